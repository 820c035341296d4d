"""What shelves ask of the parts above them, answered."""

from tsuzuki.connectors.feed_addresses import web_address
from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.db import Tx
from tsuzuki.delivery.events.news import EVENTS_WAKEUP, CountsChanged, NewEvent, SubscriptionChanged
from tsuzuki.delivery.events.store import add_events_tx
from tsuzuki.delivery.fanout import deliver_known_chapters_tx, deliver_known_items_tx
from tsuzuki.model.ids import FeedId, PublicId, SeriesId, ShelfId, WatchId, show_id
from tsuzuki.model.installments import FeedChange
from tsuzuki.model.times import Millis
from tsuzuki.net.client import Client
from tsuzuki.polling.service import Poller
from tsuzuki.shelves.deps import ALWAYS, Asked


class ForShelves:
    """Joins delivery, polling and the client to `tsuzuki.shelves.deps.Above`."""

    def __init__(self, poller: Poller, client: Client, wakeup: Wakeup, *, poll_wakeup: str) -> None:
        self._poller = poller
        self._client = client
        self._wakeup = wakeup
        self._poll_wakeup = poll_wakeup

    async def subscribed_tx(
        self, tx: Tx, shelf_id: ShelfId, feed_id: FeedId, now: Millis, *, since: Millis = ALWAYS
    ) -> None:
        """See `Above`."""
        await deliver_known_items_tx(tx, shelf_id, feed_id, since=since, now=now)

    async def followed_tx(self, tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, available: int, now: Millis) -> None:
        """See `Above`."""
        await deliver_known_chapters_tx(tx, shelf_id, series_id, now=now, available=available)

    async def counts_changed_tx(self, tx: Tx, shelf_id: ShelfId, now: Millis) -> None:
        """See `Above`."""
        await add_events_tx(tx, [NewEvent(shelf_id, CountsChanged())], now)

    async def feed_changed_tx(
        self, tx: Tx, shelf_id: ShelfId, public_id: PublicId, *, name: str, change: FeedChange, now: Millis
    ) -> None:
        """See `Above`."""
        news = SubscriptionChanged(id=show_id(public_id), name=name, change=change)
        await add_events_tx(tx, [NewEvent(shelf_id, news)], now)

    def committed(self) -> None:
        """See `Above`."""
        self._wakeup.wake(EVENTS_WAKEUP)

    def due(self) -> None:
        """See `Above`."""
        self._wakeup.wake(self._poll_wakeup)

    async def ask_refresh(self, watch_id: WatchId) -> Asked:
        """See `Above`."""
        return await self._poller.ask_refresh(watch_id)

    async def ask_refresh_all(self, shelf_id: ShelfId) -> Asked:
        """See `Above`."""
        return await self._poller.ask_refresh_all(shelf_id)

    async def vet(self, url: str, proxy: str | None) -> str:
        """See `Above`."""
        return await self._client.vet(web_address(url), proxy)
