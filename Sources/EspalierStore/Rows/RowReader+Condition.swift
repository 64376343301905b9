// Tests conditions on the bytes of a row.

internal import EspalierEngine
internal import EspalierModel

extension RowReader {
    /// The verdict of `test` on a checked row.
    ///
    /// - Parameter scratch: memory for folded text, reused for every row; its contents before the call do not matter.
    func verdict(
        _ test: ByteCondition, _ row: RawSpan, _ shape: RowLayout.Shape, _ offsets: RowOffsets, _ scratch: inout [UInt8]
    ) -> ByteCondition.Verdict {
        switch test.kind {
        case .all, .any, .not: return combined(test, row, shape, offsets, &scratch)
        case .destination: return destinationVerdict(test, row, shape, offsets)
        case .null, .integer, .integers, .number, .text, .texts, .pattern: break
        }
        let place = numbering.shapes.place(ofAttribute: test.slot, shape)
        if place == nil, shape.hasDefaultRow { return defaultVerdict(test, row, &scratch) }
        guard let place, !offsets.isNull(bit: place.bit, row), case .attribute(let type) = place.content
        else { return test.passesNull ? .passes : .fails }
        switch test.kind {
        case .null: return test.isNegated ? .fails : .passes
        case .integer, .integers:
            guard let number = integer(type, place, offsets, row) else { return .unknown }
            let isIn =
                test.kind == .integer ? test.integers.contains(number) : test.integerList.containsSorted(number)
            return isIn != test.isNegated ? .passes : .fails
        case .number:
            guard type == .double || type == .date else { return .unknown }
            let number = Double(bitPattern: row.number(at: offsets.fixedOffset + place.position))
            return test.numbers.contains(number) != test.isNegated ? .passes : .fails
        case .text, .texts, .pattern:
            guard type == .string else { return .unknown }
            return verdict(test, row.extracting(offsets.range(at: place.position, row)), &scratch)
        case .all, .any, .not, .destination: return .unknown
        }
    }

    private func destinationVerdict(
        _ test: ByteCondition, _ row: RawSpan, _ shape: RowLayout.Shape, _ offsets: RowOffsets
    ) -> ByteCondition.Verdict {
        guard let place = numbering.shapes.place(ofRelationship: test.slot, shape),
            !offsets.isNull(bit: place.bit, row)
        else { return test.passesNull ? .passes : .fails }
        let reference = offsets.reference(at: place.position, row)
        guard let id = numbering.id(entityNumber: reference.entity, key: reference.key) else { return .unknown }
        return test.destinations.contains(id) != test.isNegated ? .passes : .fails
    }

    private func combined(
        _ test: ByteCondition, _ row: RawSpan, _ shape: RowLayout.Shape, _ offsets: RowOffsets, _ scratch: inout [UInt8]
    ) -> ByteCondition.Verdict {
        assert(test.kind == .all || test.kind == .any || test.kind == .not, "\(test.kind) combines no tests")
        assert(test.kind != .not || test.children.count == 1, "\(test.children.count) tests are negated")
        let decisive: ByteCondition.Verdict = test.kind == .any ? .passes : .fails
        var isUnknown = false
        for child in test.children {
            let verdict = self.verdict(child, row, shape, offsets, &scratch)
            if test.kind == .not { return verdict == .unknown ? .unknown : verdict == .passes ? .fails : .passes }
            if verdict == decisive { return decisive }
            if verdict == .unknown { isUnknown = true }
        }
        return isUnknown ? .unknown : decisive == .passes ? .fails : .passes
    }

    /// The verdict of `test` on an attribute that the layout of the row lacks.
    @inline(never)
    private func defaultVerdict(
        _ test: ByteCondition, _ row: RawSpan, _ scratch: inout [UInt8]
    ) -> ByteCondition.Verdict {
        withDefaultRow(of: row) { row, shape, offsets in
            // One step only: in a damaged file default rows can lead in a circle.
            let isAbsent = numbering.shapes.place(ofAttribute: test.slot, shape) == nil
            let absence: ByteCondition.Verdict = test.passesNull ? .passes : .fails
            return isAbsent ? absence : verdict(test, row, shape, offsets, &scratch)
        }
    }

    @inline(__always)
    private func integer(
        _ type: AttributeType, _ place: RowLayout.Place, _ offsets: RowOffsets, _ row: RawSpan
    ) -> Int64? {
        switch type {
        case .integer64: offsets.integer(at: place.position, row)
        case .integer32: Int64(row.number(at: offsets.fixedOffset + place.position, as: Int32.self))
        case .integer16: Int64(row.number(at: offsets.fixedOffset + place.position, as: Int16.self))
        case .boolean: row.byte(at: offsets.fixedOffset + place.position) != 0 ? 1 : 0
        default: nil
        }
    }

    private func verdict(_ test: ByteCondition, _ text: RawSpan, _ scratch: inout [UInt8]) -> ByteCondition.Verdict {
        // SAFETY: neither buffer leaves its closure, and every bit pattern is a valid UInt8.
        unsafe text.withUnsafeBytes { bytes in
            let bytes = unsafe bytes.bindMemory(to: UInt8.self)
            let greatest = unsafe bytes.reduce(into: 0 as UInt8) { $0 = max($0, $1) }
            let isASCII = greatest < 0x80
            guard unsafe isASCII || (!test.needsASCII && TextFolding.isPlain(bytes)) else { return .unknown }
            guard test.ignoresCase else { return unsafe verdict(test, bytes, isASCII: isASCII) }
            if scratch.count < bytes.count { scratch = [UInt8](repeating: 0, count: max(64, 2 * bytes.count)) }
            assert(scratch.count >= bytes.count, "room for \(bytes.count) folded bytes")
            return unsafe scratch.withUnsafeMutableBufferPointer { lowered in
                for index in 0..<bytes.count {
                    let byte = unsafe bytes[index]
                    unsafe lowered[index] = byte &- 0x41 < 26 ? byte | 0x20 : byte
                }
                // SAFETY: as above; the borrowed bytes are read within the call.
                return unsafe verdict(test, UnsafeBufferPointer(rebasing: lowered[..<bytes.count]), isASCII: true)
            }
        }
    }

    /// The verdict of `test` on folded text.
    private func verdict(
        _ test: ByteCondition, _ text: UnsafeBufferPointer<UInt8>, isASCII: Bool
    ) -> ByteCondition.Verdict {
        switch test.kind {
        case .pattern:
            // SAFETY: here and below, the caller lends the bytes, which are read within the call.
            guard let matches = unsafe test.pattern?.matches(text, isASCII: isASCII) else { return .unknown }
            return matches ? .passes : .fails
        case .texts:
            var (low, high) = (0, test.texts.count)
            while low < high {
                let middle = (low + high) / 2
                // SAFETY: as above.
                let order = unsafe Self.order(text, test.texts[middle])
                if order == 0 { return .passes }
                if order < 0 { high = middle } else { low = middle + 1 }
            }
            return .fails
        default:
            assert(test.kind == .text && test.texts.count == 1, "a range of text with \(test.texts.count) bounds")
            guard let bound = test.texts.first else { return .unknown }
            // SAFETY: as above.
            let order = unsafe Self.order(text, bound)
            let isAbove = test.ends.lower == .open || order > 0 || (order == 0 && test.ends.lower == .included)
            let isBelow = test.ends.upper == .open || order < 0 || (order == 0 && test.ends.upper == .included)
            return (isAbove && isBelow) != test.isNegated ? .passes : .fails
        }
    }

    /// Less than 0 if `text` is before `other`, more than 0 if it is after.
    private static func order(_ text: UnsafeBufferPointer<UInt8>, _ other: [UInt8]) -> Int {
        let common = min(text.count, other.count)
        // SAFETY: the index is below both counts.
        for index in 0..<common where unsafe text[index] != other[index] {
            return unsafe Int(text[index]) - Int(other[index])
        }
        return text.count - other.count
    }
}

extension [Int64] {
    /// Whether the numbers, which are in ascending order, contain this one.
    fileprivate func containsSorted(_ number: Int64) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] == number { return true }
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
