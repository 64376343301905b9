// FileFormat.md, section 8: the newest version of every page, from the log or else from the store file.

/// The pages of the newest state.
struct PageImages {
    let store: any ByteSource
    let log: LogWalk?
    let superblock: Superblock
    let state: StoreState
    /// The LSN at which the newest commit ends: every page was written before it.
    let commitLSN: UInt64
    /// The number of whole pages in the store file.
    let filePageCount: UInt64

    /// The bytes of a page; `nil` if neither file holds it.
    func page(_ number: UInt32) throws(AuditFailure) -> [UInt8]? {
        if let page = try log?.page(number) { return page.count == superblock.pageSize ? page : nil }
        guard UInt64(number) < filePageCount else { return nil }
        let page = try store.read(at: UInt64(number) * UInt64(superblock.pageSize), count: superblock.pageSize)
        return page.count == superblock.pageSize ? page : nil
    }
}
