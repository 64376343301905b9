// Requests made from the templates of a model (FR-17).

extension FetchRequest {
    /// Makes the request that `template` describes, with values for the variables of its condition.
    ///
    ///     let template = try #require(model.fetchRequestTemplate(named: "byName"))
    ///     let request = try FetchRequest<Person>(template, substitutionVariables: ["NAME": "Nina"])
    ///
    /// - Throws: `FetchPredicateError` if the condition cannot be parsed, or a variable has no value.
    public init(
        _ template: FetchRequestTemplate, substitutionVariables values: [String: any PredicateArgument] = [:]
    ) throws(FetchPredicateError) {
        var predicate: FetchPredicate?
        if let format = template.predicateFormat {
            predicate = try FetchPredicate(format: format).withSubstitutionVariables(values)
        }
        self.init(entityName: template.entity, predicate: predicate)
        terms.fetchLimit = template.fetchLimit
        terms.includesSubentities = template.includesSubentities
        terms.includesPendingChanges = template.includesPendingChanges
        terms.returnsObjectsAsFaults = template.returnsObjectsAsFaults
        terms.sortKeys = template.sortElements.map {
            SortKey($0.keyPath, ascending: $0.isAscending, options: $0.options)
        }
        (terms.fetchOffset, terms.fetchBatchSize) = (template.fetchOffset, template.fetchBatchSize)
        terms.includesPropertyValues = template.includesPropertyValues
        terms.relationshipKeyPathsForPrefetching = template.relationshipKeyPathsForPrefetching
    }
}

extension ValueRequest {
    /// Makes the request that `template` describes, for values of the objects.
    ///
    /// - Throws: `FetchPredicateError` if the condition cannot be parsed, or a variable has no value.
    public init(
        _ template: FetchRequestTemplate, columns: [FetchColumn] = [],
        substitutionVariables values: [String: any PredicateArgument] = [:]
    ) throws(FetchPredicateError) {
        let request = try FetchRequest<ObjectID>(template, substitutionVariables: values)
        self.init(request.terms, columns: columns)
        returnsDistinctResults = template.returnsDistinctResults
    }
}
