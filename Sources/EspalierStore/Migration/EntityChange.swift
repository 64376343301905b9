// The changes of the values in the rows of one older entity, computed once for all of these rows.
//
// Invariants
//   1. A row whose change needs no rewriting reads correctly in the newer model, with the layouts renamed.

internal import EspalierEngine
internal import EspalierModel

/// How the rows of one entity become rows of another one.
struct EntityChange {
    /// The source of an attribute's value.
    enum Source {
        /// The attribute has no value, or one that is computed afterwards.
        case none
        /// The attribute in this slot of the older entity.
        case copy(Int)
        /// The attribute in this slot, as a value of another type or with other elements.
        case convert(Int, AttributeConversion)
        /// The same value for all rows; rows that are not rewritten have it in the default row of their layout.
        case fill(AttributeValue)
    }

    /// The source of a to-one relationship's destination.
    enum Destination {
        /// No destination, or the relationship is to-many.
        case none
        /// The to-one relationship in this slot of the older entity, whose references stay as they are.
        case field(Int)
        /// The to-one relationship in this slot, whose references change or lead nowhere now.
        case moved(Int)
        /// The pairs of owner and destination that were gathered.
        case pairs

        /// The slot of the older entity that is read.
        var slot: Int? {
            switch self {
            case .field(let slot), .moved(let slot): slot
            case .none, .pairs: nil
            }
        }
    }

    /// By slot of the newer entity.
    private(set) var sources: [Source] = []
    /// By slot of the newer entity: the value that replaces null.
    private(set) var defaults: [AttributeValue?] = []
    /// By slot of the newer entity.
    private(set) var destinations: [Destination] = []
    /// Whether every row has to be rewritten.
    private(set) var rewritesAll = false
    /// Slots of the older entity: rows without a value in one of them have to be rewritten.
    private(set) var filledSlots: [Int] = []

    /// - Parameter movesReferences: whether references of an older to-one relationship change.
    init(
        from older: Entity, to newer: Entity, _ match: ModelMatch, _ origins: PairOrigins,
        movesReferences: (Relationship, Relationship) -> Bool
    ) {
        for attribute in newer.attributes {
            let former = match.attributes[newer.index][attribute.slot].map { older.attributes[$0] }
            add(attribute, from: former)
        }
        for relationship in newer.relationships {
            guard !relationship.isToMany else {
                destinations.append(.none)
                continue
            }
            let former = match.relationships[newer.index][relationship.slot].map { older.relationships[$0] }
            if origins[relationship].needsPairs {
                destinations.append(.pairs)
                rewritesAll = true
            } else if let former {
                let isMoved = movesReferences(former, relationship)
                destinations.append(isMoved ? .moved(former.slot) : .field(former.slot))
                if isMoved { rewritesAll = true }
            } else {
                destinations.append(.none)
            }
        }
        // Rows keep no references that are not read any more: the entities that these name may be removed later.
        let read = destinations.compactMap(\.slot)
        if older.relationships.contains(where: { !$0.isToMany && !read.contains($0.slot) }) { rewritesAll = true }
        assert(sources.count == newer.attributes.count && defaults.count == sources.count, "\(sources.count) sources")
        assert(destinations.count == newer.relationships.count, "\(destinations.count) destinations")
        assert(
            filledSlots.allSatisfy { older.attributes.indices.contains($0) }, "an attribute of \(newer.name) is filled")
    }

    private mutating func add(_ attribute: Attribute, from former: Attribute?) {
        let value = attribute.description
        var replacement: AttributeValue?
        defer { defaults.append(replacement) }
        guard attribute.isStored else { return sources.append(.none) }
        guard let former, former.isStored else {
            return sources.append(value.defaultValue.isNull ? .none : .fill(value.defaultValue))
        }
        if !value.isOptional, former.isOptional, !value.defaultValue.isNull {
            replacement = value.defaultValue
            filledSlots.append(former.slot)
        }
        let conversion = AttributeConversion(from: former.description, to: value)
        if conversion.keepsValues {
            sources.append(.copy(former.slot))
        } else {
            // The values are computed anew, so those of another type need no equal.
            sources.append(value.isComputed ? .none : .convert(former.slot, conversion))
            rewritesAll = true
        }
    }

    /// Whether a row is rewritten with pairs that were gathered.
    var needsPairs: Bool { destinations.contains { if case .pairs = $0 { true } else { false } } }

    /// Whether rows that are not rewritten get values that they do not have.
    var fillsLayouts: Bool {
        !rewritesAll && sources.contains { if case .fill = $0 { true } else { false } }
    }

    /// Whether the values in this slot of the newer entity are the same as in the older one.
    func keeps(_ property: Entity.Property) -> Bool {
        switch property {
        case .attribute(let slot):
            guard case .copy = sources[slot] else { return false }
            return defaults[slot] == nil
        case .relationship(let slot):
            guard case .field = destinations[slot] else { return false }
            return true
        }
    }
}

extension Attribute {
    /// Whether rows have a field for it.
    var isStored: Bool { !isTransient && type != .undefined && type != .objectID }
}
