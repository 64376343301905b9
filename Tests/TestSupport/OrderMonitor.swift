// Watches the order of writes and syncs, and records every breach of rules F1 to F4, even one that no crash exposes.
//
// The monitor knows the file format only: frames in log writes, LSNs in page headers, slots in the superblock.
//   F1  A page is written to the store only after the log is durable up to the page's LSN.
//   F2  A checkpoint slot is written only after all page writes before it are durable; the store is truncated only
//       after the slot is durable.
//   F3  A log segment is recycled only after the checkpoint LSN of a durable slot has reached the segment's end.
//   F4  A slot names a log, and a commit of a log that a slot names is synced, only after the names of the files are
//       durable.
// The monitor also checks that checkpoint LSNs never decrease: segments that an older checkpoint needs may have been
// recycled.

import EspalierEngine

/// Judges the writes and syncs that reach a simulated disk.
struct OrderMonitor {
    private(set) var violations: [String] = []
    private var pageSize = 4096
    private var segmentByteCount = 4 << 20
    private var unsyncedFrames: [(lsn: UInt64, isCommit: Bool)] = []
    private var unsyncedPages = 0
    private var unsyncedSlot: CheckpointSlot?
    private var durableSlot: CheckpointSlot?
    private var sequences: [UInt32: UInt64] = [:]

    /// - Parameter beginning: the beginning of the file after the write, since a slot may be written in two parts.
    mutating func didWrite(
        _ bytes: [UInt8], at offset: Int, to role: FileRole, beginning: [UInt8], hasUnsyncedNames: Bool
    ) {
        switch role {
        case .store: didWriteStore(bytes, at: offset, beginning, hasUnsyncedNames: hasUnsyncedNames)
        case .log: didWriteLog(bytes, at: offset)
        case .directory, .copy, .scratch: break
        }
    }

    mutating func didSync(_ role: FileRole, hasUnsyncedNames: Bool) {
        switch role {
        case .store:
            unsyncedPages = 0
            durableSlot = unsyncedSlot ?? durableSlot
            unsyncedSlot = nil
        case .log:
            if hasUnsyncedNames, durableSlot?.isClean == false, unsyncedFrames.contains(where: \.isCommit) {
                violations.append("F4: a commit was synced while a name in its directory was not durable")
            }
            unsyncedFrames.removeAll()
        case .directory, .copy, .scratch: break
        }
    }

    mutating func didResize(_ role: FileRole, to byteCount: Int, isShorter: Bool) {
        // A new log has no frames: truncation has discarded the unsynced frames of the log before it.
        if role == .log, byteCount == 0 { unsyncedFrames.removeAll() }
        guard role == .store, isShorter else { return }
        let counted = Int(durableSlot?.pageCount ?? 0) * pageSize
        if unsyncedSlot != nil || byteCount < counted {
            violations.append("F2: the store was cut to \(byteCount) bytes before a slot that says so was durable")
        }
    }

    /// The slot at an offset of the beginning of a store; `nil` if there is none.
    private static func slot(at offset: Int, _ beginning: [UInt8]) -> CheckpointSlot? {
        guard offset + CheckpointSlotLayout.byteCount <= beginning.count else { return nil }
        return beginning[offset..<offset + CheckpointSlotLayout.byteCount].withSpan {
            CheckpointSlot(decoding: $0, at: 0)
        }
    }

    private mutating func didWriteStore(
        _ bytes: [UInt8], at offset: Int, _ beginning: [UInt8], hasUnsyncedNames: Bool
    ) {
        if offset < SuperblockLayout.usedByteCount {
            if offset == 0, bytes.count >= SuperblockLayout.byteCount {
                pageSize = Int(bytes.u32(at: SuperblockLayout.pageSize))
            }
            for slot in SuperblockLayout.slots
            where offset < slot + CheckpointSlotLayout.byteCount && slot < offset + bytes.count
                && slot + CheckpointSlotLayout.byteCount <= beginning.count
            {
                if unsyncedPages > 0, offset != 0 {
                    violations.append(
                        "F2: a checkpoint slot was written before \(unsyncedPages) page writes were durable")
                }
                let written = Self.slot(at: slot, beginning)
                if let written, let durableSlot, written.sequence > durableSlot.sequence,
                    written.checkpointLSN < durableSlot.checkpointLSN
                {
                    violations.append("a slot of \(written.checkpointLSN) follows one of \(durableSlot.checkpointLSN)")
                }
                let others = SuperblockLayout.slots.filter { $0 != slot }.compactMap { Self.slot(at: $0, beginning) }
                let former = others.max { $0.sequence < $1.sequence }
                if hasUnsyncedNames, let written, !written.isClean, let former, former.isClean,
                    former.sequence < written.sequence
                {
                    violations.append("F4: a slot names a log whose name was not durable")
                }
                // Of two with one number, the one that was written last is on the disk.
                unsyncedSlot = [written, unsyncedSlot].compactMap(\.self).max { $0.sequence < $1.sequence }
            }
            return
        }
        for start in stride(from: 0, to: bytes.count - PageLayout.headerByteCount + 1, by: pageSize) {
            let lsn = bytes.u64(at: start + PageLayout.lsn)
            if let frame = unsyncedFrames.first(where: { $0.lsn <= lsn }) {
                violations.append(
                    "F1: page \((offset + start) / pageSize) with LSN \(lsn) went to the store"
                        + " before frame \(frame.lsn) of the log was durable")
            }
        }
        unsyncedPages += 1
    }

    /// Whether recovery from the durable slot would read segment `sequence`.
    private func isNeeded(_ sequence: UInt64) -> Bool {
        guard let durableSlot, !durableSlot.isClean, sequence >= durableSlot.logStartSegment else { return false }
        return (sequence + 1) * UInt64(segmentByteCount) > durableSlot.checkpointLSN
    }

    private mutating func didWriteLog(_ bytes: [UInt8], at offset: Int) {
        var place = 0
        if offset == 0 {
            if bytes.count >= LogHeaderLayout.recordByteCount {
                segmentByteCount = Int(bytes.u32(at: LogHeaderLayout.segmentByteCount))
                sequences.removeAll()
            }
            return
        }
        let inSegment = (offset - LogHeaderLayout.byteCount) % segmentByteCount
        if inSegment == 0, bytes.count >= SegmentHeaderLayout.byteCount {
            let index = bytes.u32(at: SegmentHeaderLayout.index)
            let sequence = bytes.u64(at: SegmentHeaderLayout.sequence)
            if bytes.u32(at: SegmentHeaderLayout.magic) != 0 {
                // After a failed append the log writes its segment again; a frame there does not count before that.
                if let older = sequences[index], older != sequence, isNeeded(older) {
                    violations.append("F3: segment \(older) was recycled before a durable checkpoint lay behind it")
                }
                sequences[index] = sequence
                place = SegmentHeaderLayout.byteCount
            }
        }
        while place + FrameHeaderLayout.byteCount <= bytes.count {
            let header = bytes[place..<place + FrameHeaderLayout.byteCount].withSpan {
                FrameHeader(decoding: $0, pageSize: pageSize)
            }
            guard let header else { return }
            unsyncedFrames.append((header.lsn, header.type == .commit))
            place += header.frameByteCount
        }
    }
}

extension Sequence<UInt8> {
    /// Gives `body` the bytes as a `RawSpan`, which the engine's decoders take.
    fileprivate func withSpan<R>(_ body: (RawSpan) -> R) -> R {
        // SAFETY: the span does not leave the closure.
        unsafe [UInt8](self).withUnsafeBytes { unsafe body($0.bytes) }
    }
}

extension [UInt8] {
    fileprivate func u32(at offset: Int) -> UInt32 { self[offset..<offset + 4].withSpan { $0.loadUInt32(at: 0) } }
    fileprivate func u64(at offset: Int) -> UInt64 { self[offset..<offset + 8].withSpan { $0.loadUInt64(at: 0) } }
}
