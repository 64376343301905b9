// The keys of an index that pass some conditions: equal values of its first properties, then one range or list.
//
// Invariants
//   1. The ranges contain every entry that passes. If `isExact` is true, they contain no other entry.

internal import EspalierModel
internal import FoundationEssentials

/// The ranges of one index that answer some of a fetch's terms.
struct GroupRanges {
    /// Ascending and disjoint; empty = nothing passes, or nothing is known if `used` is empty.
    private(set) var ranges: [EntryRange] = []
    /// The positions of the terms that the ranges answer.
    private(set) var used: [Int] = []
    /// The number of leading properties with one fixed value.
    private(set) var fixedCount = 0
    /// Whether all entries of the ranges pass: no bound was cut, and no term was the prefix of a text.
    private(set) var isExact = true
    /// Whether the last used term is a range of values or a prefix, and whether it is bounded on both sides.
    private(set) var openness = Openness.points

    enum Openness {
        case points, prefix, bounded, halfOpen
    }

    private let group: KeyGroup
    private let numbering: StoreNumbering
    private var prefix: [UInt8] = []

    /// Makes ranges of `group` from as many of `terms` as its properties allow, in the order of the properties.
    init(_ group: KeyGroup, terms: [PlanTerm?], numbering: StoreNumbering) {
        self.group = group
        self.numbering = numbering
        for element in group.elements {
            guard let (position, passing) = Self.best(element, terms) else { break }
            used.append(position)
            guard case .oneOf(let values) = passing, values.count == 1, isPossible(values[0]) else {
                setRanges(for: passing, element)
                if case .between = passing { narrow(position, terms, element, passing) }
                return
            }
            GroupKey.append(values[0], element.coding, numbering, to: &prefix)
            fixedCount += 1
        }
        assert(used.count == fixedCount, "\(used.count) conditions fix \(fixedCount) elements")
        guard fixedCount > 0 else { return }
        ranges = [range(beginningWith: prefix)]
    }

    /// Whether a row of this store can have the value: no row has an ID of another store.
    private func isPossible(_ value: AttributeValue) -> Bool {
        guard case .objectID(let id) = value else { return true }
        return numbering.isOwn(id)
    }

    private static func concerns(_ term: PlanTerm, _ element: KeyGroup.Element) -> Bool {
        guard term.passing != nil else { return false }
        if let expression = element.expression {
            return term.expression == expression.expression && term.folding == element.folding
                && term.compares(element.type)
        }
        switch (element.property, term.terminal) {
        case (.attribute(let slot)?, .attribute(let other, _, let elements)?):
            return term.steps.isEmpty && slot == other && elements == element.path
                && term.folding == element.folding
        case (.relationship(let slot)?, .object?):
            return term.steps.count == 1 && term.steps[0].slot == slot && !term.steps[0].isToMany
        default: return false
        }
    }

    /// The most selective of the terms that concern `element`: one value, a list, a prefix, a range.
    private static func best(_ element: KeyGroup.Element, _ terms: [PlanTerm?]) -> (Int, PassingValues)? {
        func rank(_ passing: PassingValues) -> Int {
            switch passing {
            case .oneOf(let values): values.count <= 1 ? 0 : 1
            case .beginsWith: 2
            case .between: 3
            }
        }
        var best: (position: Int, passing: PassingValues)?
        for case (let position, let term?) in terms.enumerated() where concerns(term, element) {
            guard let passing = term.passing else { continue }
            if best.map({ rank(passing) < rank($0.passing) }) ?? true { best = (position, passing) }
        }
        return best
    }

    private mutating func setRanges(for passing: PassingValues, _ element: KeyGroup.Element) {
        switch passing {
        case .oneOf(let values):
            for value in values where isPossible(value) {
                var key = prefix
                key.reserveCapacity(64)
                GroupKey.append(value, element.coding, numbering, to: &key)
                ranges.append(range(beginningWith: key))
            }
            ranges.sort { $0.lower.precedes($1.lower) }
            if !isExact || !element.folding.isEmpty { merge() }
        case .beginsWith(let text):
            var key = prefix
            assert(element.type == .string, "a value that is no text begins with text")
            KeyCoding.append(
                textPrefix: text, options: element.folding, isAscending: element.isAscending, to: &key)
            ranges = [range(beginningWith: key)]
            openness = .prefix
            // Only the predicate decides whether a text begins with another: it may compare characters.
            isExact = false
        case .between(let lower, let upper):
            openness = lower != nil && upper != nil ? .bounded : .halfOpen
            ranges = [range(from: lower, to: upper, element)].compactMap(\.self)
        }
    }

    /// Adds a second bound to the one range, from another term than `first` on the same property.
    private mutating func narrow(
        _ first: Int, _ terms: [PlanTerm?], _ element: KeyGroup.Element, _ taken: PassingValues
    ) {
        guard case .between(let lower, let upper) = taken, lower == nil || upper == nil else { return }
        for case (let position, let term?) in terms.enumerated() where position != first {
            guard Self.concerns(term, element), case .between(let otherLower, let otherUpper)? = term.passing,
                (lower == nil) == (otherLower != nil), (upper == nil) == (otherUpper != nil)
            else { continue }
            assert(!used.contains(position), "condition \(position) is answered twice")
            used.append(position)
            openness = .bounded
            ranges = [range(from: lower ?? otherLower, to: upper ?? otherUpper, element)].compactMap(\.self)
            return
        }
    }

    private mutating func range(
        from lower: PassingValues.Bound?, to upper: PassingValues.Bound?, _ element: KeyGroup.Element
    ) -> EntryRange? {
        // NaN is sorted after all numbers, but is not greater than any of them.
        let upper = upper ?? element.type.notANumber.map { PassingValues.Bound(value: $0, isIncluded: false) }
        // In a descending index the bounds are exchanged, because the order of the codes is reversed.
        let (low, high) = element.isAscending ? (lower, upper) : (upper, lower)
        let mark: UInt8 = element.isAscending ? KeyCoding.valueMark : ~KeyCoding.valueMark
        // Cut like the entries: a long fixed value leaves no byte of this one in them.
        let whole = range(beginningWith: prefix + [mark])
        var range = whole
        if let low { range.lower = bound(low, element, isLower: true) ?? whole.lower }
        if let high { range.upper = bound(high, element, isLower: false) ?? whole.upper }
        if let upper = range.upper, !range.lower.precedes(upper) { return nil }
        assert(!range.lower.precedes(whole.lower), "a bound is below all values")
        return range
    }

    /// The key from which on, or below which, values pass.
    private mutating func bound(_ bound: PassingValues.Bound, _ element: KeyGroup.Element, isLower: Bool) -> [UInt8]? {
        var key = prefix
        GroupKey.append(bound.value, element.coding, numbering, to: &key)
        guard !cut(&key) else { return isLower ? key : key.successor }
        return bound.isIncluded == isLower ? key : key.successor
    }

    private mutating func range(beginningWith key: [UInt8]) -> EntryRange {
        var key = key
        _ = cut(&key)
        return .beginning(with: key)
    }

    private mutating func cut(_ key: inout [UInt8]) -> Bool {
        guard key.count > GroupKey.valueByteCountMax else { return false }
        key.removeLast(key.count - GroupKey.valueByteCountMax)
        isExact = false
        return true
    }

    /// Removes repeated ranges, which the cut of values and folding can produce.
    private mutating func merge() {
        var merged: [EntryRange] = []
        for range in ranges where merged.last != range { merged.append(range) }
        ranges = merged
    }
}

extension AttributeType {
    /// The NaN of the type, which indexes sort after all other values; `nil` if the type has none.
    ///
    /// Numbers of all types, `undefined`, have one.
    fileprivate var notANumber: AttributeValue? {
        switch self {
        case .double, .undefined: .double(.nan)
        case .float: .float(.nan)
        case .decimal: .decimal(.nan)
        case .date: .date(Date(timeIntervalSinceReferenceDate: .nan))
        case .integer16, .integer32, .integer64, .string, .boolean, .binary, .uuid, .uri, .transformable,
            .objectID, .composite:
            nil
        }
    }
}
