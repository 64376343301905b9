// A row that differs from another one in a few values: what a context has changed, without a copy of the rest.
//
// Invariants
//   1. The base is no changed row itself, so that a value is read in one step, however often a row was changed.
//   2. At most `slotCountMax` values differ: a row in which more do is decoded as a whole.

internal import EspalierModel

/// Another row with some other values.
struct ChangedRow: Sendable {
    static let slotCountMax = 8

    let version: UInt64
    let base: RowContent
    let place: RowContent.Place
    private(set) var attributes: [(slot: Int, value: AttributeValue)]
    private(set) var destinations: [(slot: Int, id: ObjectID?)]

    func value(at slot: Int) -> AttributeValue {
        for attribute in attributes where attribute.slot == slot { return attribute.value }
        return base.value(at: slot, of: place)
    }

    func destination(at slot: Int) -> ObjectID? {
        for destination in destinations where destination.slot == slot { return destination.id }
        return base.destination(at: slot, of: place)
    }

    /// Adds the values of another row that do not differ here.
    mutating func add(_ former: ChangedRow) {
        assert(
            former.attributes.count + former.destinations.count <= Self.slotCountMax,
            "invariant 2: \(former.attributes.count) values and \(former.destinations.count) destinations differ")
        for (slot, value) in former.attributes where !attributes.contains(where: { $0.slot == slot }) {
            attributes.append((slot, value))
        }
        for (slot, id) in former.destinations where !destinations.contains(where: { $0.slot == slot }) {
            destinations.append((slot, id))
        }
    }
}

/// One row that was never encoded.
enum DecodedRow: Sendable {
    case values(DecodedValues)
    case changed(ChangedRow)

    var version: UInt64 {
        switch self {
        case .values(let row): row.version
        case .changed(let row): row.version
        }
    }

    func value(at slot: Int) -> AttributeValue {
        switch self {
        case .values(let row): row.values[slot]
        case .changed(let row): row.value(at: slot)
        }
    }

    func destination(at slot: Int) -> ObjectID? {
        switch self {
        case .values(let row): row.destinations[slot]
        case .changed(let row): row.destination(at: slot)
        }
    }
}
