// Which version of a page belongs to a snapshot, and where it lies.
//
// Invariants
//   1. A snapshot sees, of each page, the newest version before its log position: in the log if the index lists one
//      at or after the checkpoint, in the store file otherwise.
//   2. The store file never holds a version newer than a snapshot needs, unless the snapshot was given up; the page's
//      own LSN tells, so a snapshot that was given up gets an error and never a page of another time.

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
    /// A reader's place on the board.
    let mark: SnapshotMark?

    /// What `state` sees, its versions being listed in `index`.
    init(_ engine: Engine, state: StoreState, index: LogIndex, mark: SnapshotMark?) {
        self.engine = engine
        assert(mark == nil || mark?.state == state, "a mark stands for the state that its snapshot sees")
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

    /// Pins the version of `page` that belongs to the snapshot, and brings it into memory if it is not there.
    ///
    /// Who calls this after `pinIfPresent` does so out of line: all of `self` is copied for a call.
    func load(_ page: PageNumber) throws(StorageError) -> PagePin {
        version(of: page) == 0 ? try pinStored(page) : try loadLogged(page)
    }

    /// Begins to bring in what `pinIfPresent` will look at first.
    @inline(__always)
    func expect(_ page: PageNumber) { pool.expect(page, version: version(of: page)) }

    /// What the pool calls the version of `page` that belongs to the snapshot.
    @inline(__always)
    private func version(of page: PageNumber) -> UInt64 {
        let place = index.newest(of: page, before: state.commitLSN)
        // 0, "not in the log", is never after a checkpoint.
        return place.lsn != 0 && place.lsn >= engine.checkpointLSN.load(ordering: .acquiring) ? place.lsn : 0
    }

    /// Whether a page of the store file is not newer than the snapshot.
    @inline(__always)
    private func isVisible(_ view: PageView) -> Bool { view.lsn < state.commitLSN || view.lsn == 0 }

    /// Pins a page whose version is in the log, unless a checkpoint gets ahead of us.
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
            // The segment was recycled while we looked: then a newer checkpoint has the page.
            if engine.checkpointLSN.load(ordering: .acquiring) > checkpoint { continue }
            if files.mayChangeUnderneath || mark?.isExpired ?? false { throw .transaction(.snapshotExpired) }
            throw .corrupt(
                .logFrame, page: page, byteOffset: Int(truncatingIfNeeded: place.fileOffset), file: .log)
        }
    }

    /// Pins `page` as it is in the store file.
    private func pinStored(_ page: PageNumber) throws(StorageError) -> PagePin {
        let pin = try loadStored(page)
        guard isVisible(pin.view) else { throw try outrun(page, pin.view.lsn) }
        return pin
    }

    /// What it means that a page is too new (invariant 2).
    ///
    /// The snapshot was given up, or another process outran it: then a commit behind the page is in the log by now.
    /// If there is none, the page is damaged.
    @inline(never)
    private func outrun(_ page: PageNumber, _ lsn: UInt64) throws(StorageError) -> StorageError {
        if mark?.isExpired ?? false { return .transaction(.snapshotExpired) }
        if files.mayChangeUnderneath {
            try engine.follower?.follow(engine)
            if engine.board.state.commitLSN > lsn { return .transaction(.snapshotExpired) }
        }
        return .corrupt(.pageLSN, page: page, byteOffset: PageLayout.lsn)
    }

    private func loadStored(_ page: PageNumber) throws(StorageError) -> PagePin {
        // Of its own: the closure would take a copy of all properties, and count a reference for each.
        let files = files
        do throws(StorageError) {
            // What the closure needs and no more: all of `self` would be copied, with six references.
            let loaded = try pool.pin(page, version: 0) { [files] target throws(StorageError) in
                try files.readStorePage(page, to: target)
                return true
            }
            guard let loaded else { throw StorageError.corrupt(.pageNumber, page: page) }
            return loaded
        } catch {
            throw try explain(error)
        }
    }

    /// What it means that a page of the store file cannot be read.
    ///
    /// Half of a page that a checkpoint is just overwriting, and no page where the file was cut, are seen only by who
    /// was given up; the latter also by who was outrun by another process, which then has committed since.
    @inline(never)
    private func explain(_ error: StorageError) throws(StorageError) -> StorageError {
        guard case .corruption(let found) = error else { return error }
        if mark?.isExpired ?? false { return .transaction(.snapshotExpired) }
        if found.rule == .pageBeyondEnd, files.mayChangeUnderneath {
            try engine.follower?.follow(engine)
            if engine.board.state.commitLSN > state.commitLSN { return .transaction(.snapshotExpired) }
        }
        return error
    }
}
