// The expression of an index, bound to an entity: a value that a store computes from each row alone (FR-25).
//
// Invariants
//   1. It reads values of the object itself: no other object, no ID, no name of an entity, and no time. So the value
//      changes only with those of `properties`, and is the same in every process.
//   2. Its values are null or of the one kind that `type` names, so they have one order.
//   3. A store can keep its values (FetchPredicate+Keeping).
//   4. Case, case folding and decompositions of assigned characters are the same in all later versions of Unicode.
//      Indexes of folded text rely on that, and so do `uppercase`, `lowercase` and `[cd]` here: only a text with
//      characters that the library does not know yet may get another value from a later one. A check finds such an
//      entry, and a rebuild replaces it.
// Not here: the meaning of functions, and where they have no value (ResolvedFunction).

/// An expression whose values are the entries of an index.
package final class IndexExpression: Sendable, Hashable {
    /// The expression in the normal form of the predicate grammar.
    package let text: String
    /// The expression, as it is evaluated and compared with those of fetches.
    package let expression: ResolvedExpression
    /// The type of its values; `undefined` stands for numbers, which may be of all numeric types.
    package let type: AttributeType
    /// The type of its values as model files name it: for numbers of several types a double.
    package let resultType: AttributeType
    /// The attributes and to-one relationships that it reads.
    package let properties: Set<Entity.Property>
    /// The entity that declares the index.
    package let entity: Entity

    /// Binds the expression `format` to the entity that declares an index of it.
    ///
    /// - Throws: `IndexExpressionError` for text that is no expression of the entity, and for expressions that a store
    ///   cannot keep in an index.
    /// - Complexity: O(length of the text, squared).
    package init(
        format: String, for entity: Entity, in model: ManagedObjectModel
    ) throws(IndexExpressionError) {
        let source: FetchExpression
        let operand: PredicateResolver.Operand
        let problem: String?
        do throws(FetchPredicateError) {
            source = try FetchExpression(format: format)
            var resolver = PredicateResolver(entity: entity, model: model)
            operand = try resolver.resolve(source)
            if let mixed = try resolver.mixedPart(of: source) {
                problem = "the values of \(mixed) may be of several types; give all alternatives one type with CAST"
            } else if let found = source.keepingProblem {
                problem = found
            } else {
                problem = try source.indexProblem(entity, model)
            }
        } catch { throw IndexExpressionError(problem: "\(error)") }
        guard !operand.isCollection, let properties = operand.expression.ownProperties else {
            throw IndexExpressionError(
                problem: "it reads more than single values of the object itself; derive an attribute for it")
        }
        if let problem = problem ?? source.formProblem { throw IndexExpressionError(problem: problem) }
        guard !properties.isEmpty else {
            throw IndexExpressionError(problem: "it reads no property, so it would be the same for every object")
        }
        guard let type = operand.family.keyType else {
            throw IndexExpressionError(
                problem: "its values are \(operand.family.description), which has no order; use text, numbers, dates, "
                    + "booleans, bytes, UUIDs or URIs")
        }
        (text, expression, self.properties, self.entity) = (source.description, operand.expression, properties, entity)
        (self.type, resultType) = (type, type == .undefined ? operand.type ?? .double : type)
    }

    /// The value for an object whose entity is the one of the index or inherits from it.
    package func value<Subject: PredicateSubject>(on subject: Subject) throws(Subject.Failure) -> AttributeValue {
        try expression.value(on: subject)
    }

    /// Whether both compute the same values in the same way.
    package static func == (left: IndexExpression, right: IndexExpression) -> Bool {
        left.expression == right.expression && left.type == right.type
    }
    /// Hashes the expression.
    package func hash(into hasher: inout Hasher) { hasher.combine(expression) }
}

/// The reason why an index cannot have the values of an expression.
package struct IndexExpressionError: Error, CustomStringConvertible {
    /// A clause that names the problem and the remedy.
    let problem: String

    /// The problem.
    package var description: String { problem }
}

extension FetchExpression {
    /// The problem of the expression as a whole, if an element of another form says the same.
    fileprivate var formProblem: String? {
        switch self {
        case .keyPath(let path): "it is a property; write .init(\"\(path)\")"
        case .function("canonical", let arguments):
            if case .keyPath(let path)? = arguments.first {
                "it is a text without case and diacritics; write .init(\"\(path)\", folding: [.caseInsensitive, "
                    + ".diacriticInsensitive])"
            } else {
                nil
            }
        case .function("noindex", _): "noindex hides it from indexes; leave it out"
        case .value, .list, .evaluatedObject, .variable, .function, .conditional, .subquery: nil
        }
    }

    /// The problem of the first part that no index can have.
    fileprivate func indexProblem(
        _ entity: Entity, _ model: ManagedObjectModel
    ) throws(FetchPredicateError) -> String? {
        var problem: String?
        try forEachPart { part throws(FetchPredicateError) in
            if problem == nil { problem = try part.ownIndexProblem(entity, model) }
            return problem == nil
        }
        return problem
    }

    /// The problem of this expression, without the parts of which it is computed.
    private func ownIndexProblem(
        _ entity: Entity, _ model: ManagedObjectModel
    ) throws(FetchPredicateError) -> String? {
        if case .list = self { return nil }
        var resolver = PredicateResolver(entity: entity, model: model)
        let operand = try resolver.resolve(self)
        if case .path(let path) = operand.expression, path.terminal == .entityName {
            return "it reads the name of the entity; index the entities that it distinguishes one by one"
        }
        if operand.family == .object, operand.isConstant {
            return "an ID names another object in another store; compare relationships with nil only"
        }
        return nil
    }
}
