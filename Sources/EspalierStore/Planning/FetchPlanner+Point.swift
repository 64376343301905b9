// The plan of a fetch by one value of an indexed attribute, made without comparing ways: there is one only.
//
// Invariants
//   1. The plan finds what the plan of `plan(_:wantsRows:)` would find, by the same entries of the same index.

internal import EspalierModel

/// Where the rows are whose attribute has one value.
struct IndexPoint {
    /// The index.
    let group: Int
    /// What the keys of its entries begin with.
    let prefix: [UInt8]
    /// Whether all that is there is wanted.
    let isExact: Bool
    /// More rows than this are not worth reading one by one.
    let countMax: Int
}

extension FetchPlanner {
    /// The plan, if one attribute shall have one value, just one index begins with it, and no order is asked for.
    ///
    /// An application that looks objects up by name asks nothing else; planning takes an eighth of such a fetch less.
    func pointPlan(_ fetch: StoreFetch) -> FetchPlan? {
        guard let point = point(fetch), let condition = fetch.predicate?.root else { return nil }
        // All that one value of a whole index leads to comes in the order of keys: a limit ends the reading.
        let comesInOrder = fetch.limit != nil && point.isExact && schema.groups[point.group].elements.count == 1
        return FetchPlan(
            entity: fetch.entity,
            isWanted: numbering.isWanted(fetch.entity, includesSubentities: fetch.includesSubentities),
            access: comesInOrder
                ? .index(group: point.group, .beginning(with: point.prefix), isReversed: false)
                : .entries(group: point.group, beginningWith: point.prefix),
            residual: point.isExact ? [] : [condition], predicate: condition, isExact: point.isExact,
            order: comesInOrder ? .asRead : .primaryKey, keys: fetch.keys, offset: fetch.offset, limit: fetch.limit,
            candidateCountMax: point.countMax)
    }

    /// What the plan comes down to.
    func point(_ fetch: StoreFetch) -> IndexPoint? {
        guard fetch.sort.isEmpty, fetch.limit != 0, let condition = fetch.predicate?.root,
            case .comparison(let comparison) = condition, comparison.operator == .equal,
            comparison.modifier == .direct, comparison.options.isEmpty,
            case .path(let path) = comparison.left, path.base == .evaluatedObject, path.steps.isEmpty,
            case .attribute(let slot, let type, let elements) = path.terminal, elements.isEmpty,
            type != .undefined, type != .objectID,
            case .value(let value) = comparison.right, type.accepts(value),
            let position = schema.groupBeginning(with: slot, of: fetch.entity)
        else { return nil }
        let group = schema.groups[position]
        let rowCount = hierarchyCount(of: fetch.entity)
        let estimate = group.isUnique && group.elements.count == 1 ? 1 : Double(rowCount) * Self.pointShare
        guard Self.indexCost(max(1, estimate)) < Double(rowCount) else { return nil }
        var key: [UInt8] = []
        key.reserveCapacity(64)
        GroupKey.append(value, group.elements[0], numbering, to: &key)
        let isCut = key.count > GroupKey.valueByteCountMax
        if isCut { key.removeLast(key.count - GroupKey.valueByteCountMax) }
        return IndexPoint(
            group: position, prefix: key, isExact: !isCut,
            countMax: candidateCountMax(of: rowCount))
    }
}
