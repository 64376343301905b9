// Sorted rows in a file: runs that were each sorted in memory, and their merge into one order.
//
// Invariants
//   1. A run has its rows by ascending key, and no key is in two runs.
//   2. While runs are merged, each has one part of the file in memory. All parts together take the memory of the sort,
//      but each one takes at least `partByteCountMin`, or a whole row if that is longer.
//   3. A row that was read is the row that was written: its checksum has been compared.

internal import EspalierEngine
internal import EspalierModel

/// The rows of a sort that were written into a file.
struct SortedRuns {
    /// The checksum of the bytes after it, the numbers of bytes of the key and of the row, and the ID.
    static let headerByteCount = 40
    /// The number of bytes after which a part of a run is written.
    private static let writtenByteCount = 256 << 10
    private static let partByteCountMin = 512, partByteCountMax = 1 << 20

    private let file: ScratchFile
    private var runs: [Range<UInt64>] = []
    /// The number of rows in all runs.
    private(set) var rowCount = 0

    init(_ file: ScratchFile) { self.file = file }

    /// The number of bytes that were written.
    var byteCount: UInt64 { runs.last?.upperBound ?? 0 }

    /// Writes rows, which are sorted, as one run.
    ///
    /// - Throws: `.storage` with `diskFull` or `io`.
    mutating func append(_ entries: [SortBuffer.Entry]) throws(StoreError) {
        assert(!entries.isEmpty, "a run without rows")
        assert(
            zip(entries, entries.dropFirst()).allSatisfy { $0.key.precedes($1.key) },
            "invariant 1: a run is not sorted")
        let begin = byteCount
        var end = begin
        var bytes: [UInt8] = []
        for entry in entries {
            entry.append(to: &bytes)
            guard bytes.count >= Self.writtenByteCount else { continue }
            try withStoreErrors(try file.write(bytes, at: end))
            end += UInt64(bytes.count)
            bytes.removeAll(keepingCapacity: true)
        }
        try withStoreErrors(try file.write(bytes, at: end))
        end += UInt64(bytes.count)
        assert(
            end - begin >= UInt64(entries.count * Self.headerByteCount),
            "\(entries.count) rows take \(end - begin) bytes")
        runs.append(begin..<end)
        rowCount += entries.count
    }

    /// The rows of all runs in order, read with about `byteCountMax` bytes of memory.
    func merged(_ byteCountMax: Int) throws(StoreError) -> MergedRuns {
        assert(byteCountMax > 0, "\(runs.count) runs are read in \(byteCountMax) bytes")
        let share = byteCountMax / max(1, runs.count)
        let partByteCount = min(max(share, Self.partByteCountMin), Self.partByteCountMax)
        return try MergedRuns(runs.map { RunReader(file, $0, partByteCount: partByteCount) })
    }
}

extension SortBuffer.Entry {
    fileprivate func append(to bytes: inout [UInt8]) {
        let begin = bytes.count
        bytes.append(littleEndian: UInt64(0))
        bytes.append(littleEndian: UInt64(key.count))
        bytes.append(littleEndian: UInt64(row.count))
        bytes.append(littleEndian: id.storeTag)
        bytes.append(littleEndian: id.entityTag)
        bytes.append(littleEndian: id.key)
        bytes += key
        bytes += row
        let end = bytes.count
        let checksum = bytes.withRawSpan { $0.checksum(of: begin + 8..<end) }
        bytes.write(checksum, at: begin)
        assert(end - begin == SortedRuns.headerByteCount + key.count + row.count, "a row of \(end - begin) bytes")
    }
}

/// Reads one run from its beginning to its end.
private struct RunReader {
    private let file: ScratchFile
    private let partByteCount: Int
    /// The part of the run that was not read yet.
    private var rest: Range<UInt64>
    private var bytes: [UInt8] = []
    /// The offset in `bytes` of the next row.
    private var position = 0

    init(_ file: ScratchFile, _ run: Range<UInt64>, partByteCount: Int) {
        assert(partByteCount > 0, "a run is read in parts of \(partByteCount) bytes")
        (self.file, rest, self.partByteCount) = (file, run, partByteCount)
    }

    /// The next row; `nil` at the end of the run.
    ///
    /// - Throws: `.storage` with `io`, or with `corruption` for bytes that are not those that were written.
    mutating func next() throws(StoreError) -> SortBuffer.Entry? {
        guard position < bytes.count || !rest.isEmpty else { return nil }
        try read(SortedRuns.headerByteCount)
        let keyByteCount: UInt64 = bytes.number(at: position + 8)
        let rowByteCount: UInt64 = bytes.number(at: position + 16)
        let left = UInt64(bytes.count - position - SortedRuns.headerByteCount) + (rest.upperBound - rest.lowerBound)
        guard keyByteCount <= left, rowByteCount <= left - keyByteCount else { throw damage }
        let keyBegin = SortedRuns.headerByteCount
        let rowBegin = keyBegin + Int(keyByteCount)
        let end = rowBegin + Int(rowByteCount)
        try read(end)
        let first = position
        let checksum = bytes.withRawSpan { $0.checksum(of: first + 8..<first + end) }
        let idKey: UInt64 = bytes.number(at: first + 32)
        guard checksum == bytes.number(at: first, as: UInt64.self), idKey != 0 else { throw damage }
        let id = ObjectID(storeTag: bytes.number(at: first + 24), entityTag: bytes.number(at: first + 28), key: idKey)
        position = first + end
        return SortBuffer.Entry(
            key: Array(bytes[first + keyBegin..<first + rowBegin]), id: id,
            row: Array(bytes[first + rowBegin..<first + end]))
    }

    /// Reads on until `count` bytes from `position` on are in memory.
    private mutating func read(_ count: Int) throws(StoreError) {
        assert(position <= bytes.count, "byte \(position) of \(bytes.count)")
        let known = bytes.count - position
        guard known < count else { return }
        let restByteCount = rest.upperBound - rest.lowerBound
        guard UInt64(count - known) <= restByteCount else { throw damage }
        let wanted = Int(min(UInt64(max(count - known, partByteCount)), restByteCount))
        let begin = rest.lowerBound
        let part = try withStoreErrors(try file.read(wanted, at: begin))
        bytes = Array(bytes[position...]) + part
        (position, rest) = (0, begin + UInt64(wanted)..<rest.upperBound)
        assert(bytes.count >= count, "\(bytes.count) of \(count) bytes are in memory")
    }

    private var damage: StoreError {
        StoreError(
            StorageError.corrupt(
                .pageChecksum, page: 0, byteOffset: Int(rest.lowerBound) - (bytes.count - position), file: .scratch))
    }
}

/// The rows of several runs in one order.
struct MergedRuns {
    private var readers: [RunReader]
    /// The next row of each run that has one, as a heap: the first has the least key of all.
    private var heads: [(entry: SortBuffer.Entry, reader: Int)] = []

    fileprivate init(_ readers: [RunReader]) throws(StoreError) {
        self.readers = readers
        for index in readers.indices {
            if let entry = try self.readers[index].next() { heads.append((entry, index)) }
        }
        // A sorted array is a heap.
        heads.sort { $0.entry.key.precedes($1.entry.key) }
    }

    /// The next row of all; `nil` at the end.
    ///
    /// - Complexity: O(log runs) comparisons of keys.
    mutating func next() throws(StoreError) -> SortBuffer.Entry? {
        guard let least = heads.first else { return nil }
        assert(heads.count <= readers.count, "\(heads.count) rows are first in \(readers.count) runs")
        if let entry = try readers[least.reader].next() {
            assert(least.entry.key.precedes(entry.key), "invariant 1: a run is not sorted")
            heads[0].entry = entry
        } else {
            let last = heads.removeLast()
            if !heads.isEmpty { heads[0] = last }
        }
        sinkFirst()
        return least.entry
    }

    /// Makes `heads` a heap again after its first element has changed.
    private mutating func sinkFirst() {
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < heads.count {
                if heads[child].entry.key.precedes(heads[least].entry.key) { least = child }
            }
            guard least != place else { return }
            heads.swapAt(place, least)
            place = least
        }
    }
}
