// The committed pages of a snapshot: which version of each page it sees, in the log or in the store file.
//
// Invariants
//   1. A snapshot sees, of each page, the newest version before its log position: in the log if the index lists one
//      at or after the checkpoint, in the store file otherwise.
//   2. The store file never holds a version newer than a live snapshot may see. If an expired snapshot reads a newer
//      one, the page's LSN shows it, so the snapshot gets an error and never a page of another commit.

import Synchronization

/// The committed pages as of one snapshot.
struct PageVersions {
    let engine: Engine
    let pool: BufferPool
    let files: StoreFiles
    let index: LogIndex
    /// The committed state.
    ///
    /// Versions before its log position are visible.
    let state: StoreState
    /// The reader's place on the board; `nil` for a writer.
    let mark: SnapshotMark?

    /// The pages that `state` sees; `index` lists their versions in the log.
    init(_ engine: Engine, state: StoreState, index: LogIndex, mark: SnapshotMark?) {
        self.engine = engine
        assert(mark == nil || mark?.state == state, "a mark holds another state than its snapshot sees")
        pool = engine.pool
        files = engine.files
        self.index = index
        self.state = state
        self.mark = mark
    }

    /// Pins the version of `page` that belongs to the snapshot, if it is in memory.
    @inline(__always)
    func pinIfPresent(_ page: PageNumber) -> PagePin? {
        let version = version(of: page)
        guard let pin = pool.pinIfPresent(page, version: version), version != 0 || isVisible(pin.view) else {
            return nil
        }
        return pin
    }

    /// Pins the version of `page` that belongs to the snapshot, and reads it into memory if it is not there.
    ///
    /// A caller that tries `pinIfPresent` first must call this out of line, because the call copies all of `self`.
    func load(_ page: PageNumber) throws(StorageError) -> PagePin {
        version(of: page) == 0 ? try pinStored(page) : try loadLogged(page)
    }

    /// Whether the version of `page` that belongs to the snapshot is in memory or being loaded.
    func isPresent(_ page: PageNumber) -> Bool { pool.isPresent(page, version: version(of: page)) }

    /// Whether the version of `page` that belongs to the snapshot is in the store file.
    func isStored(_ page: PageNumber) -> Bool { version(of: page) == 0 }

    /// Prefetches the memory that `pinIfPresent` will read first.
    @inline(__always)
    func prefetch(_ page: PageNumber) { pool.prefetch(page, version: version(of: page)) }

    /// The pool's number for the version of `page` that belongs to the snapshot: its LSN, or 0 if it is in the store
    /// file.
    @inline(__always)
    private func version(of page: PageNumber) -> UInt64 {
        let place = index.newest(of: page, before: state.commitLSN)
        // 0 means "not in the log", even if the checkpoint is at position 0.
        return place.lsn != 0 && place.lsn >= engine.checkpointLSN.load(ordering: .acquiring) ? place.lsn : 0
    }

    /// Whether a page of the store file is not newer than the snapshot.
    @inline(__always)
    private func isVisible(_ view: PageView) -> Bool { view.lsn < state.commitLSN || view.lsn == 0 }

    /// Pins a page whose version is in the log, or in the store file if a checkpoint has moved it meanwhile.
    private func loadLogged(_ page: PageNumber) throws(StorageError) -> PagePin {
        while true {
            let place = index.newest(of: page, before: state.commitLSN)
            assert(place.lsn < state.commitLSN, "invariant 1: the version at \(place.lsn) is not visible")
            let checkpoint = engine.checkpointLSN.load(ordering: .acquiring)
            if place.lsn < checkpoint { return try pinStored(page) }
            let loaded = try pool.pin(page, version: place.lsn) { [files] target throws(StorageError) in
                try files.readFrame(of: page, at: place, to: target)
            }
            if let loaded { return loaded }
            // If a newer checkpoint has the page, its segment was recycled during the read: try again.
            if engine.checkpointLSN.load(ordering: .acquiring) > checkpoint { continue }
            if files.mayChangeUnderneath || mark?.isExpired ?? false { throw .transaction(.snapshotExpired) }
            throw .corrupt(
                .logFrame, page: page, byteOffset: Int(truncatingIfNeeded: place.fileOffset), file: .log)
        }
    }

    /// Pins `page` as it is in the store file.
    private func pinStored(_ page: PageNumber) throws(StorageError) -> PagePin {
        let pin = try loadStored(page)
        guard isVisible(pin.view) else { throw try errorForNewer(page, pin.view.lsn) }
        return pin
    }

    /// The error for a page that is newer than the snapshot (invariant 2).
    ///
    /// The snapshot has expired, or another process has overtaken it; in the second case the log holds a commit after
    /// the page's LSN by now. In any other case the page is damaged.
    @inline(never)
    private func errorForNewer(_ page: PageNumber, _ lsn: UInt64) throws(StorageError) -> StorageError {
        assert(lsn >= state.commitLSN, "page \(page) of \(lsn) is not newer than \(state.commitLSN)")
        if mark?.isExpired ?? false { return .transaction(.snapshotExpired) }
        if files.mayChangeUnderneath {
            try engine.follower?.follow(engine)
            if engine.board.state.commitLSN > lsn { return .transaction(.snapshotExpired) }
        }
        return .corrupt(.pageLSN, page: page, byteOffset: PageLayout.lsn)
    }

    private func loadStored(_ page: PageNumber) throws(StorageError) -> PagePin {
        do throws(StorageError) {
            // Capture only `files`: capturing `self` would copy all of it, with five references.
            let loaded = try pool.pin(page, version: 0) { [files] target throws(StorageError) in
                try files.readStorePage(page, to: target)
                return true
            }
            guard let loaded else { throw StorageError.corrupt(.pageNumber, page: page) }
            return loaded
        } catch {
            throw try errorForUnreadable(error)
        }
    }

    /// The error for a page of the store file that cannot be read.
    ///
    /// Only an expired snapshot can read a page that a checkpoint is overwriting, or miss a page where the file was
    /// truncated. A snapshot that another process has overtaken can also miss a page; that process has committed since.
    @inline(never)
    private func errorForUnreadable(_ error: StorageError) throws(StorageError) -> StorageError {
        guard case .corruption(let found) = error else { return error }
        if mark?.isExpired ?? false { return .transaction(.snapshotExpired) }
        if found.rule == .pageBeyondEnd, files.mayChangeUnderneath {
            try engine.follower?.follow(engine)
            if engine.board.state.commitLSN > state.commitLSN { return .transaction(.snapshotExpired) }
        }
        return error
    }
}
