// The memory that each sort of a store may use, and the files for the rows that exceed it.

internal import EspalierEngine
internal import FoundationEssentials
internal import Synchronization

/// The limit of memory for each sort; a store shares it with all of its snapshots.
final class SortSpace: Sendable {
    /// The least number of bytes: a run of rows is at least about as long.
    static let byteCountMin = 4096

    private let database: Database
    private let byteLimit = Atomic<Int>(64 << 20)

    init(_ database: Database) { self.database = database }

    /// The number of bytes that the rows and keys of one sort may take in memory.
    var byteCountMax: Int {
        get { byteLimit.load(ordering: .relaxed) }
        set { byteLimit.store(max(newValue, Self.byteCountMin), ordering: .relaxed) }
    }

    /// Makes a file without a name.
    func makeFile() throws(StoreError) -> ScratchFile {
        let folder = FileManager.default.temporaryDirectory.path
        return try withStoreErrors(try database.makeScratchFile(elsewhere: folder))
    }
}
