// A full copy: the pages of one snapshot in a store file of its own, which is closed cleanly and needs no log.
//
// Invariants
//   1. Pages in use are copied byte by byte, so checksums and LSNs are those of the original; free pages are holes.
//   2. The copy has a store identifier of its own, because later writes to it are another history than the original's.
//   3. Its slot names the original in the field of the log identifier, which no clean store needs, until the copy is
//      first written to; until then it can be the base of increments.

/// The first page of a copy that was not written to yet.
struct CopyHead {
    var superblock: Superblock
    let state: StoreState
    /// The identifier of the store that was copied; all zero if the store is not a copy.
    let origin: [UInt8]

    /// The bytes of page 0: superblock, three slots with the same state, superblock.
    func encoded() -> [UInt8] {
        var record = RecordBytes(byteCount: superblock.pageSize)
        record.store(superblock.encoded(), at: SuperblockLayout.magic)
        record.store(superblock.encoded(), at: SuperblockLayout.mirror)
        for sequence in UInt64(0)..<UInt64(SuperblockLayout.slots.count) {
            let slot = CheckpointSlot(state, sequence: sequence, origin: origin)
            record.store(slot.encoded(), at: slot.byteOffset)
        }
        return record.bytes
    }

    /// Writes page 0, and sets the size of the file to that of all pages.
    func write(to file: any StorageFile) throws(StorageError) {
        assert(state.pageCount >= FixedPlace.initialPageCount, "a store of \(state.pageCount) pages")
        let page = ScratchBytes(byteCount: superblock.pageSize)
        page.store(encoded(), at: 0)
        try page.write(0..<page.byteCount, to: file, at: 0)
        try file.truncate(to: UInt64(state.pageCount) * UInt64(superblock.pageSize))
    }
}

extension CheckpointSlot {
    /// The slot of a copy of `origin` that was not written to.
    init(_ state: StoreState, sequence: UInt64, origin: [UInt8]) {
        self.init(
            sequence: sequence, checkpointLSN: state.commitLSN, transactionID: state.transactionID,
            pageCount: state.pageCount, freeCount: state.freeCount, catalogRoot: state.catalogRoot, isClean: true,
            logIdentifier: origin, logStartSegment: 0, chainSeed: 0, nextTreeID: state.nextTreeID)
    }
}

extension Superblock {
    /// The superblock of a copy made now: with a new identifier and creation time.
    func copied(in fileSystem: any FileSystem) -> Superblock {
        var copy = self
        copy.storeIdentifier = []
        for word in [fileSystem.random(), fileSystem.random()] {
            copy.storeIdentifier += (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
        assert(copy.storeIdentifier.count == 16, "an identifier of \(copy.storeIdentifier.count) bytes")
        copy.creationTime = fileSystem.now()
        return copy
    }
}

extension ReadPages {
    /// Writes the snapshot to an empty file as a store; returns how many pages were in use.
    func writeCopy(
        to file: any StorageFile, head: CopyHead, watcher: CopyWatcher?
    ) throws(StorageError) -> UInt64 {
        let report = CopyReport(watcher: watcher, pageCount: UInt64(pageCount))
        let sweep = PageSweep(self)
        var written: UInt64 = 0
        try sweep.run { first, isInUse throws(StorageError) in
            var index = 0
            while index < isInUse.count {
                let end = isInUse[index...].firstIndex(of: !isInUse[index]) ?? isInUse.count
                assert(end > index && end <= isInUse.count, "pages \(index)..<\(end) of \(isInUse.count)")
                if isInUse[index] {
                    let offset = (UInt64(first) + UInt64(index)) * UInt64(pageSize)
                    try sweep.buffer.write(index * pageSize..<end * pageSize, to: file, at: offset)
                    written += UInt64(end - index)
                }
                index = end
            }
            try report.advance(to: UInt64(first) + UInt64(isInUse.count))
        }
        try head.write(to: file)
        return written + 1
    }
}
