// Sorts rows by normalized keys; with a limit, keeps only the first ones. Rows that do not fit into the memory of a
// sort are written into a file as sorted runs (SortedRuns).
//
// Invariants
//   1. The order is total: sort keys, then the ascending primary key, all in one byte string.
//   2. With a limit, at most 2 x (offset + limit) rows are held at any time, or 16 if that is more.
//   3. Between two insertions the rows in memory take at most the memory of the sort, unless no file can be written:
//      then the sort goes on in memory.
//   4. With a limit, the file gets about as many rows as the result for each time that the number of rows doubles, if
//      their order is random: `worst` is read from it whenever it has as many more.

internal import EspalierModel

struct SortBuffer {
    struct Entry {
        let key: [UInt8]
        let id: ObjectID
        let row: [UInt8]

        /// About the bytes of memory that the entry takes: its own, those that both arrays have reserved, and those of
        /// their headers.
        var byteCount: Int { MemoryLayout<Entry>.stride + 64 + key.capacity + row.capacity }
    }

    private let keep: Int
    private var entries: [Entry] = []
    /// The greatest key that can still be among the first `keep`, once that many were seen.
    private var worst: [UInt8]?
    /// The bytes that `entries` take.
    private var byteCount = 0
    private let space: SortSpace
    /// The number of bytes that `entries` may take.
    private let byteCountMax: Int
    /// The rows that were written into a file.
    private var runs: SortedRuns?
    /// Whether the first rows could not be written into a file, so that all rows stay in memory.
    private var hasNoFile = false
    /// The number of rows in the file at which `worst` is read from it.
    private var boundCount: Int

    /// A buffer that keeps the first `keep` rows; `nil` = all.
    init(keep: Int?, in space: SortSpace) {
        assert(keep ?? 0 >= 0, "the first \(keep ?? 0) rows are kept")
        self.keep = keep ?? Int.max
        boundCount = max(1, self.keep)
        (self.space, byteCountMax) = (space, space.byteCountMax)
    }

    /// A buffer for the rows that a plan finds.
    init(for plan: FetchPlan, _ space: SortSpace) {
        let offset = plan.offset
        let keep = plan.limit.map { $0.addingReportingOverflow(offset) }
        self.init(keep: keep.map { $0.overflow ? Int.max : $0.partialValue }, in: space)
    }

    /// The normalized key of a row.
    static func key(of row: EvaluatedRow, _ sort: [ResolvedSortKey]) throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        for key in sort {
            let value = try key.value(of: row)
            KeyCoding.append(value, as: key.type, options: key.options, isAscending: key.isAscending, to: &bytes)
        }
        bytes.append(bigEndian: row.objectID.key)
        return bytes
    }

    /// Makes `bytes` the normalized key of a checked row, whose own attributes decide the order.
    static func write(
        _ bytes: inout [UInt8], of row: RawSpan, _ id: ObjectID, _ sort: [ResolvedSortKey], _ reader: RowReader
    ) {
        bytes.removeAll(keepingCapacity: true)
        for key in sort {
            guard case .attribute(let slot, let type, _)? = key.path?.terminal else { continue }
            append(slot, type, of: row, reader, options: key.options, isAscending: key.isAscending, to: &bytes)
        }
        bytes.append(bigEndian: id.key)
    }

    /// Appends the code of an attribute of a checked row to `bytes`.
    @inline(__always)
    static func append(
        _ slot: Int, _ type: AttributeType, of row: RawSpan, _ reader: RowReader, options: ComparisonOptions,
        isAscending: Bool, to bytes: inout [UInt8]
    ) {
        let first = bytes.count
        if options.isSubset(of: [.localeSensitive]), let range = reader.textRange(at: slot, row),
            GroupKey.isPlain(row.extracting(range))
        {
            bytes.append(KeyCoding.valueMark)
            bytes.append(copying: row.extracting(range))
            bytes.append(0)
            bytes.append(0)
            if !isAscending { KeyCoding.invert(&bytes, from: first) }
        } else {
            KeyCoding.append(
                reader.value(at: slot, row), as: type, options: options, isAscending: isAscending, to: &bytes)
        }
    }

    /// Whether a row with this key may be among the wanted ones.
    func isWanted(_ key: [UInt8]) -> Bool { worst.map { key.precedes($0) } ?? true }

    /// Adds a wanted row.
    ///
    /// - Throws: `.storage` with `diskFull`, `io` or `corruption` if the file has rows, and no more can be written or
    ///   those that it has cannot be read.
    mutating func insert(_ entry: Entry) throws(StoreError) {
        assert(entry.key.count >= 8, "a key of \(entry.key.count) bytes has no room for that of \(entry.id)")
        entries.append(entry)
        byteCount += entry.byteCount
        let isFull = keep < Int.max / 2 && entries.count >= max(2 * keep, 16)
        if isFull { cut() }
        if byteCount > byteCountMax, !hasNoFile { try spill() }
        assert(!isFull || checkInvariants())
    }

    /// Sorts the rows in memory, and drops those that cannot be among the first `keep`.
    private mutating func cut() {
        entries.sort { $0.key.precedes($1.key) }
        guard entries.count >= keep else { return }
        entries.removeLast(entries.count - keep)
        byteCount = entries.reduce(0) { $0 + $1.byteCount }
        let former = worst
        worst = entries.last?.key
        assert(
            former == nil || worst == nil || former?.precedes(worst ?? []) == false, "the worst key has become worse")
    }

    /// Writes the rows in memory into the file, unless dropping rows has made much room.
    private mutating func spill() throws(StoreError) {
        cut()
        guard byteCount > byteCountMax / 2 else { return }
        try writeRun()
        try readWorst()
    }

    /// Writes the rows in memory, which are sorted, into the file; they stay in memory if no file can be written.
    private mutating func writeRun() throws(StoreError) {
        do throws(StoreError) {
            var written: SortedRuns
            if let runs { written = runs } else { written = SortedRuns(try space.makeFile()) }
            try written.append(entries)
            runs = written
        } catch {
            // Without a run nothing is lost: a fetch does not fail because of a folder that cannot be written.
            guard runs == nil else { throw error }
            hasNoFile = true
            return
        }
        entries.removeAll(keepingCapacity: true)
        byteCount = 0
    }

    /// Reads the key of the last wanted row of the file into `worst`, if the file has got many rows since it was read.
    private mutating func readWorst() throws(StoreError) {
        guard keep > 0, let runs, runs.rowCount >= boundCount else { return }
        boundCount = runs.rowCount + keep
        var rows = try runs.merged(byteCountMax)
        for _ in 1..<keep { _ = try rows.next() }
        let bound = try rows.next()?.key
        assert(bound != nil, "\(runs.rowCount) rows in the file end before row \(keep)")
        worst = bound
    }

    /// The wanted rows in order.
    ///
    /// - Throws: the errors of the file, if there is one.
    consuming func rows() throws(StoreError) -> SortedRows {
        assert(checkInvariants())
        cut()
        guard runs != nil else { return SortedRows(inMemory: entries) }
        if !entries.isEmpty { try writeRun() }
        guard let runs else { return SortedRows(inMemory: []) }
        entries = []
        return SortedRows(try runs.merged(byteCountMax), spilledByteCount: runs.byteCount, keep: keep)
    }

    /// Asserts the invariants, and that no row was refused too early; to be called in `assert`.
    private func checkInvariants() -> Bool {
        assert(byteCount <= byteCountMax || hasNoFile, "invariant 3: \(byteCount) bytes of \(byteCountMax)")
        assert(byteCount == entries.reduce(0) { $0 + $1.byteCount }, "\(entries.count) rows take \(byteCount) bytes")
        guard keep < Int.max / 2 else { return true }
        assert(entries.count <= max(2 * keep, 16), "invariant 2: \(entries.count) rows are held for \(keep)")
        if let worst {
            let better = entries.count { !worst.precedes($0.key) }
            assert(better >= min(keep, entries.count), "\(better) rows are at least as good as the worst of \(keep)")
        }
        return true
    }
}

/// The rows of a sort, in order.
struct SortedRows {
    /// The number of bytes that were written into a file; 0 if there is none.
    let spilledByteCount: UInt64
    private let entries: [SortBuffer.Entry]
    private var runs: MergedRuns?
    private var count = 0
    private let countMax: Int

    fileprivate init(inMemory entries: [SortBuffer.Entry]) {
        (self.entries, spilledByteCount, countMax) = (entries, 0, entries.count)
    }

    fileprivate init(_ runs: MergedRuns, spilledByteCount: UInt64, keep: Int) {
        (self.runs, self.spilledByteCount, entries, countMax) = (runs, spilledByteCount, [], keep)
    }

    /// The next row; `nil` after the last one that is wanted.
    ///
    /// - Throws: `.storage` with `io` or `corruption` if rows cannot be read from the file.
    mutating func next() throws(StoreError) -> SortBuffer.Entry? {
        guard count < countMax else { return nil }
        defer { count += 1 }
        return runs == nil ? entries[count] : try runs?.next()
    }
}
