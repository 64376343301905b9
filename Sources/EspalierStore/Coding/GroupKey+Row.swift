// The index entry of a row, encoded from its bytes without values between: a check encodes one for each index.
//
// Invariants
//   1. The result has the same bytes as `GroupKey.encode` of the row's values.

internal import EspalierEngine
internal import EspalierModel

extension GroupKey {
    /// Appends the codes of the group's values in a checked row; returns whether they are longer than an entry may
    /// hold, and whether one value is null.
    @inline(__always)
    private static func appendCodes(
        _ group: KeyGroup, _ row: RawSpan, _ reader: RowReader, to bytes: inout [UInt8]
    ) -> (isLong: Bool, hasNull: Bool) {
        let start = bytes.count
        var hasNull = false
        for element in group.elements {
            let first = bytes.count
            switch element.property {
            case .relationship(let slot)?:
                let reference = reader.reference(at: slot, row)
                if reference == nil { hasNull = true }
                KeyCoding.append(reference: reference, isAscending: element.isAscending, to: &bytes)
            case .attribute(let slot)?:
                if element.isPlain, let range = reader.textRange(at: slot, row), isPlain(row.extracting(range)) {
                    bytes.append(KeyCoding.valueMark)
                    bytes.append(copying: row.extracting(range))
                    bytes.append(0)
                    bytes.append(0)
                    if !element.isAscending { KeyCoding.invert(&bytes, from: first) }
                } else {
                    let value = reader.value(at: slot, row).part(at: element.path)
                    if value.isNull { hasNull = true }
                    KeyCoding.append(
                        value, as: element.type, options: element.folding, isAscending: element.isAscending, to: &bytes)
                }
            case nil:
                let value = element.expression?.value(of: row, reader) ?? .null
                if value.isNull { hasNull = true }
                KeyCoding.append(
                    value, as: element.type, options: element.folding, isAscending: element.isAscending, to: &bytes)
            }
        }
        assert(bytes.count - start >= group.elements.count, "one of \(group.elements.count) values has no mark")
        return (bytes.count - start > valueByteCountMax, hasNull)
    }

    /// Replaces `bytes` by the key of the entry that a checked row has in a group; returns the entry's value, and
    /// whether one of the row's values is null.
    @inline(__always)
    static func encode(
        _ group: KeyGroup, _ row: RawSpan, key: UInt64, entityNumber: UInt16, _ reader: RowReader,
        into bytes: inout [UInt8]
    ) -> (value: GroupEntryValue, hasNull: Bool) {
        bytes.removeAll(keepingCapacity: true)
        let (isCut, hasNull) = appendCodes(group, row, reader, to: &bytes)
        if isCut { bytes.removeLast(bytes.count - valueByteCountMax) }
        bytes.append(bigEndian: key)
        assert(bytes.count <= valueByteCountMax + 8, "the key of an entry has \(bytes.count) bytes")
        return (GroupEntryValue(entityNumber: entityNumber, isCut: isCut), hasNull)
    }

    /// The whole codes of the group's values in a checked row, not cut.
    static func codes(_ group: KeyGroup, _ row: RawSpan, _ reader: RowReader) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = appendCodes(group, row, reader, to: &bytes)
        assert(bytes.count >= group.elements.count, "one of \(group.elements.count) values has no mark")
        return bytes
    }

    /// Whether one of the values is null, by the codes of an entry that was not cut.
    static func hasNull(_ codes: RawSpan, _ group: KeyGroup) -> Bool {
        if group.elements.count == 1 { return codes.byte(at: 0) == KeyCoding.nullMark }
        var reader = KeyReader(codes.copy(0..<codes.byteCount))
        for element in group.elements {
            if element.type == .objectID {
                guard let reference = reader.nextReference(isAscending: element.isAscending) else { return false }
                if reference == nil { return true }
            } else {
                guard let value = reader.next(as: element.type, isAscending: element.isAscending) else { return false }
                if value.isNull { return true }
            }
        }
        return false
    }

    /// Whether a text is encoded as its own bytes, without folding and escaping.
    @inline(__always)
    static func isPlain(_ text: RawSpan) -> Bool {
        // SAFETY: the buffer does not leave the closure; a byte is a byte.
        unsafe text.withUnsafeBytes { unsafe TextFolding.isPlain($0.bindMemory(to: UInt8.self)) }
    }
}

/// The value of an index entry as one number: the entity number, and the flags from bit 16 on.
struct GroupEntryValue: Equatable {
    let number: UInt32

    init(entityNumber: UInt16, isCut: Bool) {
        number = UInt32(entityNumber) | (isCut ? UInt32(GroupKey.isCutFlag) << 16 : 0)
        assert(
            self.entityNumber == entityNumber && self.isCut == isCut,
            "an entry's value does not read as it was written")
    }

    /// Reads a value; `nil` if it does not have `GroupKey.entryValueByteCount` bytes.
    @inline(__always)
    init?(_ bytes: RawSpan) {
        guard bytes.byteCount == GroupKey.entryValueByteCount else { return nil }
        number = UInt32(bytes.number(at: 0, as: UInt16.self)) | UInt32(bytes.byte(at: 2)) << 16
    }

    var entityNumber: UInt16 { UInt16(truncatingIfNeeded: number) }
    var isCut: Bool { number >> 16 & UInt32(GroupKey.isCutFlag) != 0 }
    var bytes: [UInt8] { (0..<3).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) } }
}
