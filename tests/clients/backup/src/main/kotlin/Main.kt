// Reads and writes backups with the library that Mihon does it with: what this refuses, Mihon refuses.
//   read FILE          prints what is in a backup
//   write FILE         writes one
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

@OptIn(ExperimentalSerializationApi::class)
fun main(said: Array<String>) {
    val file = File(said[1])
    if (said[0] == "write") {
        GZIPOutputStream(file.outputStream()).use { it.write(ProtoBuf.encodeToByteArray(Backup.serializer(), WRITTEN)) }
        return
    }
    val backup = ProtoBuf.decodeFromByteArray(Backup.serializer(), GZIPInputStream(file.inputStream()).readBytes())
    for (one in backup.categories) println("category ${one.order} ${one.name}")
    for (one in backup.sources) println("source ${one.sourceId} ${one.name}")
    for (one in backup.manga) {
        println("manga ${one.source} ${one.url} ${one.favorite} ${one.categories} ${one.tracking.map { it.mediaId }} ${one.title}")
        for (chapter in one.chapters) println("chapter ${chapter.url} ${chapter.chapterNumber} ${chapter.read} ${chapter.lastPageRead}")
        for (line in one.history) println("history ${line.url} ${line.lastRead}")
    }
}
