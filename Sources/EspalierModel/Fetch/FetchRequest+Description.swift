// The description of a request, for debuggers and logs.

extension FetchTerms: CustomDebugStringConvertible {
    /// Entity, condition, order, and the terms that differ from those of a new request.
    public var debugDescription: String {
        var parts = ["fetch \(entityName)"]
        if let predicate { parts.append("where \(predicate)") }
        if !sortKeys.isEmpty {
            parts.append(
                "sorted by "
                    + sortKeys.map { "\($0.text)\($0.isAscending ? "" : " descending")" }.joined(separator: ", "))
        }
        if fetchLimit > 0 { parts.append("limit \(fetchLimit)") }
        if fetchOffset > 0 { parts.append("offset \(fetchOffset)") }
        if let affectedStores { parts.append("in \(affectedStores.count) stores") }
        if !includesSubentities { parts.append("without subentities") }
        if !includesPendingChanges { parts.append("without unsaved changes") }
        if !returnsObjectsAsFaults { parts.append("no faults") }
        if !includesPropertyValues { parts.append("without values") }
        if fetchBatchSize > 0 { parts.append("in pages of \(fetchBatchSize)") }
        if shouldRefreshRefetchedObjects { parts.append("refreshing") }
        if !relationshipKeyPathsForPrefetching.isEmpty {
            parts.append("prefetching " + relationshipKeyPathsForPrefetching.joined(separator: ", "))
        }
        return parts.joined(separator: ", ")
    }
}

extension FetchRequest: CustomDebugStringConvertible {
    /// The terms, and the class of the results.
    public var debugDescription: String { "\(terms.debugDescription), as \(Result.self)" }
}
