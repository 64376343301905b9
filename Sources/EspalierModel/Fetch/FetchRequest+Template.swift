// Requests made from the templates of a model, and the check of their conditions (FR-17).

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

extension ManagedObjectModel {
    /// The problems of the conditions of named requests, in a model that is valid otherwise: none in one that was made
    /// in code.
    ///
    /// - Complexity: O(size) for each condition.
    package var fetchRequestTemplateProblems: [ModelError.Problem] {
        fetchRequestTemplates.compactMap { template in
            guard let error = conditionError(of: template) else { return nil }
            return ModelError.Problem(entity: nil, "request '\(template.name)' is not valid: \(error)")
        }
    }

    /// The error of every request that is made from a template, whatever the values of its variables are.
    private func conditionError(of template: FetchRequestTemplate) -> FetchPredicateError? {
        guard let format = template.predicateFormat, let entity = entity(named: template.entity) else { return nil }
        var hasVariables = false
        do throws(FetchPredicateError) {
            let condition = try FetchPredicate(format: format)
            // A null in place of each variable: the type of its value is not known.
            let sample = condition.replacingVariablePaths { _ in
                hasVariables = true
                return .value(.null)
            }
            _ = try ResolvedPredicate(sample, for: entity, in: self)
            return nil
        } catch {
            return hasVariables && !error.isOfName ? nil : error
        }
    }
}

extension FetchPredicateError {
    /// Whether a name of the text leads to no property by which objects are found.
    fileprivate var isOfName: Bool {
        switch reason {
        case .unknownProperty, .propertyOfSubentity, .transientProperty, .fetchedProperty, .pathBeyondAttribute: true
        case .unexpected, .unterminated, .invalidEscape, .tooDeep, .unsupported, .untranslatable, .missingArgument,
            .surplusArguments, .wrongArgument, .unknownFunction, .argumentCount, .unboundVariable,
            .unknownVariablePart, .collectionOperator, .toManyPath, .modifierWithoutCollection, .typeMismatch,
            .invalidPattern, .patternTooSlow, .notGrouped, .notFetched, .havingWithoutGroups, .repeatedColumn,
            .misplacedAggregate:
            false
        }
    }
}
