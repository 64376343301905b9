// The plan of a fetch by one value of an indexed attribute: no sample is read, and no indexes are compared.
//
// Invariants
//   1. The plan finds the same rows as the general steps, which may find them by a scan or another index.

internal import EspalierModel

extension FetchPlanner {
    /// The plan if one attribute must have one value, an index begins with that attribute, and the fetch has no order.
    func equalityPlan(_ fetch: StoreFetch) -> FetchPlan? {
        guard let predicate = fetch.predicate, let equality = predicate.equality, fetch.sort.isEmpty, fetch.limit != 0,
            let position = schema.groupBeginning(with: equality.slot, of: fetch.entity)
        else { return nil }
        let group = schema.groups[position]
        assert(group.elements[0].property == .attribute(equality.slot), "\(group.name) begins with another property")
        let rowCount = hierarchyCount(of: fetch.entity)
        let estimate = group.isUnique && group.elements.count == 1 ? 1 : Double(rowCount) * Self.pointShare
        guard Self.indexCost(max(1, estimate)) < Double(rowCount) else { return nil }
        var key: [UInt8] = []
        key.reserveCapacity(64)
        GroupKey.append(equality.value, group.codings[0], numbering, to: &key)
        let isCut = key.count > GroupKey.valueByteCountMax
        if isCut { key.removeLast(key.count - GroupKey.valueByteCountMax) }
        // The entries of one value in an index of one property are in the order of keys: reading stops at the limit.
        let comesInOrder = fetch.limit != nil && !isCut && group.elements.count == 1
        return FetchPlan(
            entity: fetch.entity,
            isWanted: numbering.isWanted(fetch.entity, includesSubentities: fetch.includesSubentities),
            access: comesInOrder
                ? .index(group: position, .beginning(with: key), isReversed: false)
                : .oneValue(group: position, beginningWith: key),
            residual: isCut ? [predicate.root] : [], predicate: predicate.root, isExact: !isCut,
            order: comesInOrder ? .asRead : .primaryKey, keys: fetch.keys, offset: fetch.offset, limit: fetch.limit,
            candidateCountMax: candidateCountMax(of: rowCount), estimate: RowEstimate(count: max(1, estimate)))
    }
}
