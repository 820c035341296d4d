// Reads and writes backups with the library that Mihon does it with: what this refuses, Mihon refuses.
//   read FILE          prints what is in a backup
//   write FILE         writes one
//   large FILE N M     writes a library of N series with M chapters each
//   compare FILE FILE  says what a restore of the second lacks or changes of the first
import java.io.File
import java.util.zip.GZIPInputStream
import java.util.zip.GZIPOutputStream
import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.Serializable
import kotlinx.serialization.protobuf.ProtoBuf
import kotlinx.serialization.protobuf.ProtoNumber

@Serializable
data class Backup(
    @ProtoNumber(1) val manga: List<Manga>,
    @ProtoNumber(2) val categories: List<Category> = emptyList(),
    @ProtoNumber(101) val sources: List<Source> = emptyList(),
)

@Serializable
data class Manga(
    @ProtoNumber(1) val source: Long,
    @ProtoNumber(2) val url: String,
    @ProtoNumber(3) val title: String = "",
    @ProtoNumber(4) val artist: String? = null,
    @ProtoNumber(5) val author: String? = null,
    @ProtoNumber(6) val description: String? = null,
    @ProtoNumber(7) val genre: List<String> = emptyList(),
    @ProtoNumber(8) val status: Int = 0,
    @ProtoNumber(9) val thumbnailUrl: String? = null,
    @ProtoNumber(13) val dateAdded: Long = 0,
    @ProtoNumber(14) val viewer: Int = 0,
    @ProtoNumber(16) val chapters: List<Chapter> = emptyList(),
    @ProtoNumber(17) val categories: List<Long> = emptyList(),
    @ProtoNumber(18) val tracking: List<Tracking> = emptyList(),
    @ProtoNumber(100) val favorite: Boolean = true,
    @ProtoNumber(101) val chapterFlags: Int = 0,
    @ProtoNumber(103) val viewerFlags: Int? = null,
    @ProtoNumber(104) val history: List<History> = emptyList(),
    @ProtoNumber(105) val updateStrategy: Int = 0, // an enum there: the same on the wire
    @ProtoNumber(106) val lastModifiedAt: Long = 0,
    @ProtoNumber(107) val favoriteModifiedAt: Long? = null,
    @ProtoNumber(108) val excludedScanlators: List<String> = emptyList(),
    @ProtoNumber(109) val version: Long = 0,
    @ProtoNumber(110) val notes: String = "",
    @ProtoNumber(111) val initialized: Boolean = false,
    @ProtoNumber(112) val memo: String = "{}", // bytes there: the same on the wire, and these can be compared
    @ProtoNumber(800) val customTitle: String? = null,
)

@Serializable
data class Chapter(
    @ProtoNumber(1) val url: String,
    @ProtoNumber(2) val name: String,
    @ProtoNumber(3) val scanlator: String? = null,
    @ProtoNumber(4) val read: Boolean = false,
    @ProtoNumber(5) val bookmark: Boolean = false,
    @ProtoNumber(6) val lastPageRead: Long = 0,
    @ProtoNumber(7) val dateFetch: Long = 0,
    @ProtoNumber(8) val dateUpload: Long = 0,
    @ProtoNumber(9) val chapterNumber: Float = 0f,
    @ProtoNumber(10) val sourceOrder: Long = 0,
    @ProtoNumber(11) val lastModifiedAt: Long = 0,
    @ProtoNumber(12) val version: Long = 0,
    @ProtoNumber(13) val memo: String = "{}",
)

@Serializable
data class Category(
    @ProtoNumber(1) val name: String,
    @ProtoNumber(2) val order: Long = 0,
    @ProtoNumber(3) val id: Long = 0,
    @ProtoNumber(100) val flags: Long = 0,
    @ProtoNumber(900) val hidden: Boolean = false,
)

@Serializable
data class History(
    @ProtoNumber(1) val url: String,
    @ProtoNumber(2) val lastRead: Long,
    @ProtoNumber(3) val readDuration: Long = 0,
)

@Serializable
data class Tracking(
    @ProtoNumber(1) val syncId: Int,
    @ProtoNumber(2) val libraryId: Long,
    @ProtoNumber(3) val mediaIdInt: Int = 0,
    @ProtoNumber(4) val trackingUrl: String = "",
    @ProtoNumber(5) val title: String = "",
    @ProtoNumber(6) val lastChapterRead: Float = 0f,
    @ProtoNumber(7) val totalChapters: Int = 0,
    @ProtoNumber(8) val score: Float = 0f,
    @ProtoNumber(9) val status: Int = 0,
    @ProtoNumber(10) val startedReadingDate: Long = 0,
    @ProtoNumber(11) val finishedReadingDate: Long = 0,
    @ProtoNumber(12) val private: Boolean = false,
    @ProtoNumber(100) val mediaId: Long = 0,
)

@Serializable
data class Source(
    @ProtoNumber(1) val name: String = "",
    @ProtoNumber(2) val sourceId: Long,
)

val WRITTEN = Backup(
    listOf(
        Manga(
            source = 0, url = "folder", title = "Local", categories = listOf(1, 300),
            chapters = listOf(
                Chapter("folder/1", "Ch. 1", read = true, chapterNumber = 1f, sourceOrder = 1),
                Chapter("folder/1.1", "Ch. 10.1", lastPageRead = 5, chapterNumber = 10.1f),
            ),
            history = listOf(History("folder/1.1", 1_700_000_000_000)),
            tracking = listOf(Tracking(2, 0, title = "Local", mediaId = 77)),
        ),
        Manga(source = -1, url = "u", title = "Only read", favorite = false, chapters = listOf(Chapter("c", "", read = true, chapterNumber = 2f))),
    ),
    listOf(Category("Action", 1), Category("Comedy", 300)),
    listOf(Source("Local source", 0)),
)

/** Every field has a value somewhere; every tenth chapter is another group's release of the one before it. */
fun large(series: Int, chapters: Int) = Backup(
    List(series) { n ->
        Manga(
            source = 4_242_424_242_424_242_424 - n % 3, url = "/manga/$n", title = "Series $n 続き", author = "Author ${n % 50}",
            artist = if (n % 3 == 0) "Artist" else null, description = if (n % 2 == 0) "What $n\nis about" else null,
            genre = listOf("Action", "Drama"), status = n % 7, thumbnailUrl = if (n % 2 == 1) "https://example.org/$n.jpg" else null,
            dateAdded = 1_600_000_000_000 + n * 1000, viewer = n % 2, chapterFlags = n % 3,
            categories = if (n % 4 == 0) listOf() else if (n % 6 == 1) listOf(1, 3) else listOf((n % 4).toLong()),
            favorite = n % 19 != 0, viewerFlags = if (n % 6 == 5) null else n % 6, updateStrategy = n % 2,
            lastModifiedAt = 1_700_000_000, favoriteModifiedAt = if (n % 2 == 0) 1_600_000_000 else null,
            excludedScanlators = if (n % 9 == 0) listOf("Group 1", "Group 2") else listOf(),
            notes = if (n % 7 == 0) "note $n" else "", memo = "{\"of\":$n}", customTitle = if (n % 11 == 0) "Mine" else null,
            tracking = listOf(
                Tracking(2, 0, trackingUrl = "https://example.org/$n", title = "Series $n", lastChapterRead = n / 2f, mediaId = 1000L + n),
                Tracking(1, n.toLong(), 7, "", "", 1f, 100, 8.5f, n % 5, 1_600_000_000_000, 1_700_000_000_000, n % 2 == 0),
            ),
            chapters = List(chapters) { m ->
                val number = if (m % 10 == 9) m else m + 1
                Chapter(
                    "/c/$n/$m", "Ch. $number", scanlator = "Group ${m % 3}", read = m % 2 == 0, bookmark = m % 31 == 0,
                    lastPageRead = if (m % 5 == 0) 7 else 0, chapterNumber = number.toFloat(), sourceOrder = chapters - 1L - m,
                    dateFetch = 1_650_000_000_000 + m * 1000, dateUpload = 1_640_000_000_000 + m * 1000, memo = if (m % 2 == 0) "[$m]" else "{}",
                )
            },
            history = List(chapters / 3) { m -> History("/c/$n/${m * 2}", 1_700_000_000_000 + m, m.toLong()) },
        )
    },
    listOf(Category("One", 1, 5, 1), Category("Two", 2, 6, hidden = true), Category("Three", 3, 4)),
    List(3) { Source("Site $it", 4_242_424_242_424_242_424 - it) },
)

/** What is of a backup in a library that it was restored to; versions and times of change only decide who wins. */
fun restored(backup: Backup): Map<String, Manga> {
    val names = backup.categories.associate { it.order to it.name.hashCode().toLong() }
    return backup.manga.associate { manga ->
        "${manga.source} ${manga.url}" to manga.copy(
            lastModifiedAt = 0, version = 0, initialized = true, categories = manga.categories.map { names.getValue(it) }.sorted(),
            chapters = manga.chapters.map { it.copy(lastModifiedAt = 0, version = 0) }.sortedBy { it.url },
            history = manga.history.sortedBy { it.url },
        )
    }
}

/** In their order; the numbers that it is told by are each backup's own. */
fun categories(backup: Backup) = backup.categories.sortedBy { it.order }.map { it.copy(order = 0) }

fun compare(ours: Backup, theirs: Backup) {
    val (before, after) = restored(ours) to restored(theirs)
    for (key in before.keys + after.keys) {
        val (one, other) = before[key] to after[key]
        if (one == other) continue
        println("differs $key")
        if (one == null || other == null) continue
        println("  ${one.copy(chapters = listOf(), history = listOf())}\n  ${other.copy(chapters = listOf(), history = listOf())}")
        (one.chapters - other.chapters.toSet()).zip(other.chapters - one.chapters.toSet()).take(1).forEach { println("  $it") }
        (one.history - other.history.toSet()).zip(other.history - one.history.toSet()).take(1).forEach { println("  $it") }
        println("  ${one.chapters.size} and ${other.chapters.size} chapters, ${one.history.size} and ${other.history.size} of history")
    }
    val (one, other) = categories(ours) to categories(theirs)
    if (one != other) println("differs\n  $one\n  $other")
    if (ours.sources.toSet() != theirs.sources.toSet()) println("differs\n  ${ours.sources}\n  ${theirs.sources}")
    println("series ${after.size} chapters ${after.values.sumOf { it.chapters.size }} history ${after.values.sumOf { it.history.size }}")
}

@OptIn(ExperimentalSerializationApi::class)
fun read(file: File) = ProtoBuf.decodeFromByteArray(Backup.serializer(), GZIPInputStream(file.inputStream()).readBytes())

@OptIn(ExperimentalSerializationApi::class)
fun write(file: File, backup: Backup) =
    GZIPOutputStream(file.outputStream()).use { it.write(ProtoBuf.encodeToByteArray(Backup.serializer(), backup)) }

fun main(said: Array<String>) {
    val file = File(said[1])
    when (said[0]) {
        "write" -> return write(file, WRITTEN)
        "large" -> return write(file, large(said[2].toInt(), said[3].toInt()))
        "compare" -> return compare(read(file), read(File(said[2])))
    }
    val backup = read(file)
    for (one in backup.categories) println("category ${one.order} ${one.name}")
    for (one in backup.sources) println("source ${one.sourceId} ${one.name}")
    for (one in backup.manga) {
        println("manga ${one.source} ${one.url} ${one.favorite} ${one.categories} ${one.tracking.map { it.mediaId }} ${one.title}")
        for (chapter in one.chapters) println("chapter ${chapter.url} ${chapter.chapterNumber} ${chapter.read} ${chapter.lastPageRead}")
        for (line in one.history) println("history ${line.url} ${line.lastRead}")
    }
}
