"""Templates compiled for pages of many values: the same text as Jinja's own compiler gives, in half the time.

What depends on nothing but the program (a message, an icon, the address of a file) is worked out when a template is
compiled. What is rendered goes out in pieces as long as they can be, and a text is escaped without becoming an object.
"""

from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any

from jinja2 import Environment, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.visitor import NodeTransformer
from markupsafe import Markup, escape

# `escape` makes an object of each text, which takes five times as long.
from markupsafe import _escape_inner as _escaped  # type: ignore[attr-defined]  # not public


def put(value: Any) -> str:
    """What stands in the page for a value: escaped, unless it is markup."""
    kind = type(value)
    if kind is str:
        return _escaped(value)
    if kind is Markup:
        return value  # type: ignore[no-any-return]  # it is one
    if kind is int:
        return str(value)
    return escape(value)


class _Joined:
    """Takes the place of a list in the code for an output, so that all of it is one piece."""

    extend = staticmethod("".join)
    append = str


class QuickEnvironment(Environment):
    """An environment for trusted templates. `fixed` are its functions that give the same for the same, always."""

    joined = _Joined
    put = staticmethod(put)

    def __init__(self, fixed: Mapping[str, Callable[..., Any]], **options: Any) -> None:
        super().__init__(**options)
        self.fixed = dict(fixed)
        self.globals.update(fixed)


class _Code(CodeGenerator):
    """Differs from Jinja's in what is called for a value and a piece; nothing of a template's meaning is changed."""

    environment: QuickEnvironment

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:  # noqa: N802  as Jinja has it
        """Work out what is fixed first."""
        super().visit_Template(_Folding(self.environment.fixed).fold(node), frame)

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802  as Jinja has it
        """One piece for all values and texts up to the next statement, where Jinja has one for each."""
        if frame.buffer is not None:
            super().visit_Output(node, frame)
            return
        frame.buffer = "yield environment.joined"
        super().visit_Output(node, frame)
        frame.buffer = None

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo) -> None:
        if frame.eval_ctx.autoescape and not frame.eval_ctx.volatile and finalize.src is None:
            self.write("environment.put(")
        else:
            super()._output_child_pre(node, frame, finalize)

    def visit_Call(  # noqa: N802  as Jinja has it
        self,
        node: nodes.Call,
        frame: Frame,
        forward_caller: bool = False,  # noqa: FBT001, FBT002  as Jinja has it
    ) -> None:
        """Call it. Jinja asks each function each time whether it wants the context; none of ours does."""
        if _is_spread(node) or any(iskeyword(named.key) for named in node.kwargs):
            super().visit_Call(node, frame, forward_caller=forward_caller)
            return
        self.write("(")
        self.visit(node.node, frame)
        self.write(")(")
        for argument in (*node.args, *node.kwargs):
            self.visit(argument, frame)
            self.write(", ")
        self.write("caller=caller)" if forward_caller else ")")


QuickEnvironment.code_generator_class = _Code


class _Folding(NodeTransformer):
    """Puts in, for each call of a fixed function with fixed values, what it gives."""

    def __init__(self, fixed: Mapping[str, Callable[..., Any]]) -> None:
        self._fixed = fixed
        self._taken: set[str] = set()

    def fold(self, template: nodes.Template) -> nodes.Template:
        """The template; a name that it gives a meaning of its own is left alone."""
        self._taken = {name.name for name in template.find_all(nodes.Name) if name.ctx != "load"}
        for imports in template.find_all(nodes.FromImport):
            self._taken |= {name if isinstance(name, str) else name[1] for name in imports.names}
        self.visit(template)
        return template

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802  as Jinja has it
        """A constant in its place, where it is one."""
        self.generic_visit(node)
        function = self._function(node.node)
        if function is None or _is_spread(node):
            return node
        try:
            values = [argument.as_const() for argument in node.args]
            named = dict(argument.as_const() for argument in node.kwargs)
        except nodes.Impossible:
            return node
        return _constant(function(*values, **named), node.lineno)

    def _function(self, node: nodes.Expr) -> Callable[..., Any] | None:
        return self._fixed.get(node.name) if isinstance(node, nodes.Name) and node.name not in self._taken else None


def _is_spread(node: nodes.Call) -> bool:
    """`f(*values)` or `f(**values)`"""
    return node.dyn_args is not None or node.dyn_kwargs is not None


def _constant(value: Any, line: int) -> nodes.Expr:
    if isinstance(value, Markup):
        return nodes.MarkSafe(nodes.Const(str(value)), lineno=line)
    return nodes.Const(value, lineno=line)
