// A commit, in the form that the stream of changes delivers.

/// One commit of a store: the pages that it changed, and the state of the store before and after it.
public struct CommittedChange: Sendable {
    /// A page after a commit.
    public struct Page: Sendable, Hashable {
        /// The page's number.
        public let number: PageNumber
        /// All bytes of the page, sealed.
        public let bytes: [UInt8]
    }

    /// The commit before this one.
    public let base: BackupPoint
    /// This commit.
    public let point: BackupPoint
    /// The pages it changed, in ascending order; some may be free after it.
    public let pages: [Page]
    /// The time of the commit, in nanoseconds since 1970.
    public let wallClock: UInt64
    let state: StoreState

    /// Pages of the store after the commit.
    public var pageCount: UInt32 { state.pageCount }
    /// How many of them are free.
    public var freePageCount: UInt32 { state.freeCount }
}

extension Database {
    /// Brings the full backup at `path`, which no process may have open for writing, forward by commits of its
    /// original.
    ///
    /// `changes` must follow each other; all of them become visible together. An interrupted update can be finished by
    /// the same changes, more of them, or an increment, as ``bringForward(_:by:)-(_,String)`` describes.
    ///
    /// - Throws: `backup`, `storeBusy`, `corruption`, `noSuchStore`, `diskFull`, `io`.
    /// - Complexity: O(pages of the changes).
    public static func bringForward(_ path: String, by changes: [CommittedChange]) throws(StorageError) {
        try bringForward(path, by: changes, in: PosixFileSystem.shared)
    }

    /// Brings a backup of any file system forward.
    package static func bringForward(
        _ path: String, by changes: [CommittedChange], in fileSystem: any FileSystem
    ) throws(StorageError) {
        guard let first = changes.first, let last = changes.last else { return }
        for (before, after) in zip(changes, changes.dropFirst()) { try after.base.checkContinues(before.point) }
        try CopyUpdate(base: first.base, state: last.state).apply(to: path, in: fileSystem) {
            store throws(StorageError) in
            let size = first.base.pageSize
            let buffer = ScratchBytes(byteCount: size)
            for change in changes {
                for page in change.pages where page.number < last.state.pageCount {
                    assert(page.bytes.count == size, "a page of \(page.bytes.count) bytes")
                    buffer.store(page.bytes, at: 0)
                    try buffer.write(0..<size, to: store, at: UInt64(page.number) * UInt64(size))
                }
            }
        }
    }
}
