// A fetched property bound to a model: its request for one object (Behaviour FR-24, PR-15).
//
// Invariants
//   1. The paths of `$FETCH_SOURCE` are read from the object once for each request: the stores get a condition without
//      variables, and may use their indexes for it.
//   2. A model that exists has valid fetched properties: names and types of their conditions are checked with it. Only
//      a value can be wrong for a condition then, such as a text that is no regular expression.

/// The parts of a fetched property's request that depend on the object, and the condition around them.
package struct ResolvedFetchedProperty: Sendable {
    /// The description.
    package let description: FetchedPropertyDescription
    private let condition: FetchPredicate?
    private let sources: [FetchKeyPath: Source]

    /// The source of the values in place of a path that begins with a variable.
    private enum Source: Sendable {
        case constant(FetchExpression)
        case expression(ResolvedExpression, isCollection: Bool, type: AttributeType?)
    }

    /// Looks up the names of the condition in the entity that has the property.
    ///
    /// - Throws: `FetchPredicateError` if the format cannot be parsed, or a variable or a path of it does not exist.
    /// - Complexity: O(size of the condition).
    package init(
        _ description: FetchedPropertyDescription, of entity: Entity, in model: ManagedObjectModel
    ) throws(FetchPredicateError) {
        self.description = description
        condition = try description.predicateFormat.map { format throws(FetchPredicateError) in
            try FetchPredicate(format: format)
        }
        var sources: [FetchKeyPath: Source] = [:]
        _ = try condition?.replacingVariablePaths { path throws(FetchPredicateError) in
            if sources[path] == nil {
                sources[path] = try Self.source(path, description, entity, model)
            }
            return .value(.null)
        }
        self.sources = sources
    }

    private static func source(
        _ path: FetchKeyPath, _ description: FetchedPropertyDescription, _ entity: Entity, _ model: ManagedObjectModel
    ) throws(FetchPredicateError) -> Source {
        let names = path.components.dropFirst().map(\.self)
        switch path.components[0] {
        case "$FETCH_SOURCE":
            let columns = path.columns.count == path.components.count ? Array(path.columns.dropFirst()) : []
            let rest = path.text.map { FetchKeyPath(names, columns: columns, in: $0) } ?? FetchKeyPath(names)
            let operand = try PredicateResolver(entity: entity, model: model).resolve(rest)
            return .expression(operand.expression, isCollection: operand.isCollection, type: operand.type)
        case "$FETCHED_PROPERTY":
            if names == ["name"] { return .constant(.value(.string(description.name))) }
            if names == ["entity", "name"] { return .constant(.value(.string(entity.name))) }
            if names.count == 2, names[0] == "userInfo", let text = description.userInfo[names[1]] {
                return .constant(.value(.string(text)))
            }
            throw FetchPredicateError(
                .unknownVariablePart(
                    path.components.joined(separator: "."),
                    known: ["name", "entity.name"] + description.userInfo.keys.sorted().map { "userInfo.\($0)" }),
                text: path.text, column: path.columns.last)
        case let name:
            throw FetchPredicateError(
                .unboundVariable(String(name.dropFirst())), text: path.text, column: path.columns.first,
                suggestion: NameSuggestion.nearest(
                    to: String(name.dropFirst()), among: ["FETCH_SOURCE", "FETCHED_PROPERTY"]))
        }
    }

    /// The request for one object, whose entity is that of the property or inherits from it.
    ///
    /// - Throws: the error of reading the object.
    /// - Complexity: O(size of the condition), and O(destinations) for each to-many path of `$FETCH_SOURCE`.
    package func terms<Subject: PredicateSubject>(for subject: Subject) throws(Subject.Failure) -> FetchTerms {
        var values: [FetchKeyPath: FetchExpression] = [:]
        for (path, source) in sources {
            switch source {
            case .constant(let constant): values[path] = constant
            case .expression(let expression, isCollection: true, _):
                values[path] = .list(try expression.values(on: subject).map { .value($0) })
            case .expression(let expression, isCollection: false, _):
                values[path] = .value(try expression.value(on: subject))
            }
        }
        return terms(values)
    }

    /// A request whose values have the types that those of an object would have; for checks.
    fileprivate var sampleTerms: FetchTerms {
        terms(
            sources.mapValues { source in
                switch source {
                case .constant(let constant): constant
                case .expression(_, isCollection: true, let type): .list([.value(type?.sample ?? .null)])
                case .expression(_, isCollection: false, let type): .value(type?.sample ?? .null)
                }
            })
    }

    private func terms(_ values: [FetchKeyPath: FetchExpression]) -> FetchTerms {
        var terms = FetchTerms(
            entityName: description.destination,
            predicate: condition?.replacingVariablePaths { values[$0] ?? .value(.null) },
            sortKeys: description.sortElements.map {
                SortKey($0.keyPath, ascending: $0.isAscending, options: $0.options)
            })
        terms.fetchLimit = description.fetchLimit
        terms.includesSubentities = description.includesSubentities
        terms.includesPendingChanges = description.includesPendingChanges
        return terms
    }
}

extension ManagedObjectModel {
    /// The problems of fetched properties, in a model that is valid otherwise.
    var fetchedPropertyProblems: [ModelError.Problem] {
        entities.flatMap { entity in
            entity.description.fetchedProperties.compactMap { property in
                do throws(FetchPredicateError) {
                    let terms = try ResolvedFetchedProperty(property, of: entity, in: self).sampleTerms
                    guard let destination = self.entity(named: property.destination) else { return nil }
                    if let predicate = terms.predicate {
                        _ = try ResolvedPredicate(predicate, for: destination, in: self)
                    }
                    for key in terms.sortKeys { _ = try ResolvedSortKey(key, for: destination, in: self) }
                    return nil
                } catch {
                    return .init(entity: entity.name, property: property.name, "its request is not valid: \(error)")
                }
            }
        }
    }
}

extension AttributeType {
    /// Any value of the type; null if every operator accepts a null in its place.
    fileprivate var sample: AttributeValue {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float: .integer(0)
        case .string: .string("")
        case .boolean: .boolean(false)
        case .date, .binary, .uuid, .uri, .transformable, .objectID, .composite, .undefined: .null
        }
    }
}
