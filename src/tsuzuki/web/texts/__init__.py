"""What the pages say: one module for each part of them, put together by `tsuzuki.web.messages`."""
