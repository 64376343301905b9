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

    private let bytes: [UInt8]
    private let reader: RowReader

    init(bytes: [UInt8], context: RowContext) { (self.bytes, reader) = (bytes, RowReader(context: context)) }

    func version(of place: RowPlace) -> UInt64 { bytes.withRawSpan(place.range) { RowReader.version(of: $0) } }

    func value(at slot: Int, of place: RowPlace) -> AttributeValue {
        bytes.withRawSpan(place.range) { reader.value(at: slot, $0) }
    }

    func destination(at slot: Int, of place: RowPlace) -> ObjectID? {
        bytes.withRawSpan(place.range) { reader.destination(at: slot, $0) }
    }

    /// Replaces `row` by the bytes of a row.
    func copyRow(at place: RowPlace, to row: inout [UInt8]) {
        row.removeAll(keepingCapacity: true)
        bytes.withRawSpan(place.range) { row.append(copying: $0) }
    }
}

extension RowPlace {
    fileprivate var range: Range<Int> { Int(offset)..<Int(offset) + Int(byteCount) }
}

/// Collects checked rows into chunks and lists them: one copy of each row, one allocation a chunk.
struct SnapshotBuilder {
    private let context: RowContext
    /// The rows that are in no chunk yet.
    private var bytes: [UInt8] = []
    private var entries: [SnapshotList.Entry] = []
    private var parts: [SnapshotList.Part] = []

    init(context: RowContext) { self.context = context }

    /// How many rows were collected.
    var count: Int { entries.count }

    /// Appends a row that passed the check.
    mutating func append(_ row: RawSpan, id: ObjectID) {
        if !bytes.isEmpty, bytes.count + row.byteCount > RowChunk.byteCountMax {
            endChunk()
            bytes.reserveCapacity(RowChunk.byteCountMax)
        }
        let place = RowPlace(offset: UInt32(bytes.count), byteCount: UInt32(row.byteCount))
        entries.append(SnapshotList.Entry(id: id, place: place))
        bytes.append(copying: row)
    }

    /// The snapshots of all rows, in the order they came in; the builder is empty afterwards.
    mutating func finish() -> SnapshotList {
        if !bytes.isEmpty { endChunk() }
        let list = SnapshotList(entries, in: parts)
        (entries, parts) = ([], [])
        return list
    }

    private mutating func endChunk() {
        parts.append(SnapshotList.Part(content: .chunk(RowChunk(bytes: bytes, context: context)), end: entries.count))
        bytes = []
    }
}
