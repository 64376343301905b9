// Many row bytes in one allocation, shared by the snapshots that read from them.
//
// Invariants
//   1. The bytes of every row in a chunk passed `RowReader.check`, and never change.
//   2. A chunk is at most `byteCountMax` long unless it holds a single longer row: a snapshot that is kept keeps no
//      more than that alive.

internal import EspalierModel

/// Checked row bytes with what is needed to read them.
final class RowChunk: Sendable {
    static let byteCountMax = 64 << 10

    let bytes: [UInt8]
    let reader: RowReader

    init(bytes: [UInt8], context: RowContext) { (self.bytes, reader) = (bytes, RowReader(context: context)) }
}

/// One row in a chunk.
struct EncodedRow: Sendable {
    let chunk: RowChunk
    let offset: UInt32
    let byteCount: UInt32

    private var range: Range<Int> { Int(offset)..<Int(offset) + Int(byteCount) }

    /// The value of the attribute in `slot`.
    func value(at slot: Int) -> AttributeValue {
        chunk.bytes.withRawSpan(range) { chunk.reader.value(at: slot, $0) }
    }

    /// The destination of the to-one relationship in `slot`.
    func destination(at slot: Int) -> ObjectID? {
        chunk.bytes.withRawSpan(range) { chunk.reader.destination(at: slot, $0) }
    }
}

/// Collects checked rows into chunks and makes snapshots of them: one copy of each row, one allocation a chunk.
struct SnapshotBuilder {
    private let context: RowContext
    private var bytes: [UInt8] = []
    private var waiting: [(id: ObjectID, version: UInt64, offset: UInt32, byteCount: UInt32)] = []
    private var snapshots: [ObjectSnapshot] = []

    init(context: RowContext) { self.context = context }

    /// How many rows were collected.
    var count: Int { snapshots.count + waiting.count }

    /// Appends a row that passed the check.
    mutating func append(_ row: RawSpan, id: ObjectID) {
        if !bytes.isEmpty, bytes.count + row.byteCount > RowChunk.byteCountMax { flush(more: true) }
        waiting.append((id, RowReader.version(of: row), UInt32(bytes.count), UInt32(row.byteCount)))
        bytes.append(copying: row)
    }

    /// The snapshots of all rows, in the order they came in; the builder is empty afterwards.
    mutating func finish() -> [ObjectSnapshot] {
        flush(more: false)
        defer { snapshots = [] }
        return snapshots
    }

    private mutating func flush(more: Bool) {
        guard !waiting.isEmpty else { return }
        let chunk = RowChunk(bytes: bytes, context: context)
        for row in waiting {
            let encoded = EncodedRow(chunk: chunk, offset: row.offset, byteCount: row.byteCount)
            snapshots.append(ObjectSnapshot(id: row.id, version: row.version, row: encoded))
        }
        waiting.removeAll(keepingCapacity: more)
        bytes = []
        if more { bytes.reserveCapacity(RowChunk.byteCountMax) }
    }
}
