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
    @ProtoNumber(7) val genre: List<String> = emptyList(),
    @ProtoNumber(8) val status: Int = 0,
    @ProtoNumber(13) val dateAdded: Long = 0,
    @ProtoNumber(16) val chapters: List<Chapter> = emptyList(),
    @ProtoNumber(17) val categories: List<Long> = emptyList(),
    @ProtoNumber(18) val tracking: List<Tracking> = emptyList(),
    @ProtoNumber(100) val favorite: Boolean = true,
    @ProtoNumber(103) val viewerFlags: Int? = null,
    @ProtoNumber(104) val history: List<History> = emptyList(),
    @ProtoNumber(106) val lastModifiedAt: Long = 0,
    @ProtoNumber(109) val version: Long = 0,
    @ProtoNumber(110) val notes: String = "",
    @ProtoNumber(111) val initialized: Boolean = false,
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
)

@Serializable
data class Category(
    @ProtoNumber(1) val name: String,
    @ProtoNumber(2) val order: Long = 0,
    @ProtoNumber(3) val id: Long = 0,
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
    @ProtoNumber(5) val title: String = "",
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
            tracking = listOf(Tracking(2, 0, "Local", 77)),
        ),
        Manga(source = -1, url = "u", title = "Only read", favorite = false, chapters = listOf(Chapter("c", "", read = true, chapterNumber = 2f))),
    ),
    listOf(Category("Action", 1), Category("Comedy", 300)),
    listOf(Source("Local source", 0)),
)

fun large(series: Int, chapters: Int) = Backup(
    List(series) { n ->
        Manga(
            source = 4_242_424_242_424_242_424 - n % 3, url = "/manga/$n", title = "Series $n 続き", author = "Author ${n % 50}",
            genre = listOf("Action", "Drama"), status = n % 3, dateAdded = 1_600_000_000_000 + n * 1000,
            categories = if (n % 4 == 0) listOf() else listOf((n % 4).toLong()), favorite = n % 20 != 0,
            viewerFlags = n % 5, notes = if (n % 7 == 0) "note $n" else "",
            tracking = listOf(Tracking(2, 0, "Series $n", 1000L + n)),
            chapters = List(chapters) { m ->
                val place = chapters - 1 - m
                Chapter(
                    "/c/$n/$m", "Ch. ${m + 1}", scanlator = "Group ${m % 3}", read = m % 2 == 0, bookmark = m % 31 == 0,
                    lastPageRead = if (m % 2 == 1 && m % 5 == 0) 7 else 0, chapterNumber = m + 1f, sourceOrder = place.toLong(),
                    dateFetch = 1_650_000_000_000 + m * 1000, dateUpload = 1_640_000_000_000 + m * 1000,
                )
            },
            history = List(chapters / 3) { m -> History("/c/$n/${m * 2}", 1_700_000_000_000 + m, m.toLong()) },
        )
    },
    listOf(Category("One", 1), Category("Two", 2), Category("Three", 3)),
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
