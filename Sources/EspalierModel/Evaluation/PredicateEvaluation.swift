// Evaluates predicates and sort keys on one object.
//
// The meaning of null (Behaviour PR-12): logic is two-valued, so NOT and De Morgan's laws hold everywhere, and memory,
// contexts, stores and indexes give the same answer.
//   1. `x == nil` is true exactly if x is null; `x != v` is true if x is null and v is not.
//   2. `<`, `<=`, `>`, `>=`, BETWEEN and the text operators are false if a side is null; all of them except the text
//      operators are also false if a side is NaN. (NaN equals itself, and sorts after every number.)
//   3. IN is true for null exactly if the list contains nil.
//   4. A path across an empty to-one relationship is null; ANY, ALL and NONE include that null.
//   5. ALL is true for an empty collection, ANY is false (PR-10).

import FoundationEssentials

extension ResolvedPredicate {
    /// Whether the condition holds for `subject`, whose entity is this predicate's entity or inherits from it.
    ///
    /// - Throws: The error of reading the subject or an object that it leads to.
    public func evaluate<Subject: PredicateSubject>(on subject: Subject) throws(Subject.Failure) -> Bool {
        try ResolvedPredicate.evaluate(root, on: subject)
    }

    /// Whether the condition `node` of a predicate holds for `subject`.
    ///
    /// Planners use it for conditions that remain.
    ///
    /// - Parameter memo: The results for objects that subjects lead to; valid while none of those objects changes.
    package static func evaluate<Subject: PredicateSubject>(
        _ node: Node, on subject: Subject, memo: PredicateMemo? = nil
    ) throws(Subject.Failure) -> Bool {
        try PredicateEvaluation(subject: subject, variables: [], memo: memo).holds(node)
    }
}

extension ResolvedSortKey {
    /// The value by which `subject` is sorted.
    public func value<Subject: PredicateSubject>(of subject: Subject) throws(Subject.Failure) -> AttributeValue {
        try PredicateEvaluation(subject: subject, variables: [], memo: nil).value(of: expression)
    }
}

extension ResolvedExpression {
    /// The value of an expression that is not a collection, for an object whose entity is that of the expression or
    /// inherits from it.
    package func value<Subject: PredicateSubject>(on subject: Subject) throws(Subject.Failure) -> AttributeValue {
        try PredicateEvaluation(subject: subject, variables: [], memo: nil).value(of: self)
    }

    /// The values of an expression that is a collection, for such an object.
    package func values<Subject: PredicateSubject>(on subject: Subject) throws(Subject.Failure) -> [AttributeValue] {
        try PredicateEvaluation(subject: subject, variables: [], memo: nil).values(of: self)
    }
}

/// One evaluation: the object, and the current elements of the enclosing SUBQUERYs.
private struct PredicateEvaluation<Subject: PredicateSubject> {
    let subject: Subject
    let variables: [Subject]
    let memo: PredicateMemo?

    func holds(_ node: ResolvedPredicate.Node) throws(Subject.Failure) -> Bool {
        switch node {
        case .constant(let truth): return truth
        case .and(let nodes):
            for node in nodes where try !holds(node) { return false }
            return true
        case .or(let nodes):
            for node in nodes where try holds(node) { return true }
            return false
        case .not(let node): return try !holds(node)
        case .comparison(let comparison): return try holds(comparison)
        }
    }

    private func holds(_ comparison: ResolvedComparison) throws(Subject.Failure) -> Bool {
        if comparison.modifier == .direct {
            return try holds(comparison, for: value(of: comparison.left))
        }
        guard let memo, let way = comparison.left.wayBeyondFirst,
            let question = PredicateMemo.Question(comparison, way),
            let id = try subject.destinationID(at: way.slot)
        else { return try holdsForElements(comparison) }
        if let answer = memo.truth(of: question, for: id) { return answer }
        let answer = try holdsForElements(comparison)
        memo.note(answer, of: question, for: id)
        return answer
    }

    private func holdsForElements(_ comparison: ResolvedComparison) throws(Subject.Failure) -> Bool {
        for element in try values(of: comparison.left) {
            if try holds(comparison, for: element) != (comparison.modifier == .all) {
                return comparison.modifier == .any
            }
        }
        return comparison.modifier != .any
    }

    private func holds(
        _ comparison: ResolvedComparison, for left: AttributeValue
    ) throws(Subject.Failure) -> Bool {
        switch comparison.operator {
        case .in:
            if case .values(let members) = comparison.right {
                return members.containsSorted(left, comparison.options)
            }
            return try values(of: comparison.right).contains {
                left.compare($0, options: comparison.options) == .orderedSame
            }
        case .between:
            let bounds = try values(of: comparison.right)
            guard bounds.count == 2 else { return false }
            return left.satisfies(.greaterThanOrEqual, bounds[0], comparison.options)
                && left.satisfies(.lessThanOrEqual, bounds[1], comparison.options)
        case .contains, .beginsWith, .endsWith, .like, .matches:
            guard case .string(let text) = left else { return false }
            if let pattern = comparison.pattern { return try holds(pattern, for: text) }
            guard case .string(let right) = try value(of: comparison.right) else { return false }
            // A pattern that is computed for each object matches nothing if it is not a valid regular expression.
            guard let pattern = try? TextPattern(comparison.operator, right, comparison.options) else { return false }
            return try holds(pattern, for: text)
        case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            if case .value(let right) = comparison.right {
                return left.satisfies(comparison.operator, right, comparison.options)
            }
            return left.satisfies(comparison.operator, try value(of: comparison.right), comparison.options)
        }
    }

    private func holds(_ pattern: TextPattern, for text: String) throws(Subject.Failure) -> Bool {
        do {
            return try pattern.matches(text)
        } catch {
            try subject.stopEvaluation(
                FetchPredicateError(.patternTooSlow(pattern.source, stepCountMax: error.stepCountMax)))
            return false
        }
    }

    /// The value of an expression that is not a collection.
    func value(of expression: ResolvedExpression) throws(Subject.Failure) -> AttributeValue {
        switch expression {
        case .value(let value): return value
        case .path(let path): return try value(of: path)
        case .aggregate(let aggregate, let collection):
            guard let memo, let way = collection.wayBeyondFirst, let id = try subject.destinationID(at: way.slot)
            else { return aggregate(try values(of: collection)) }
            let question = PredicateMemo.Question(aggregate, way)
            if let answer = memo.value(of: question, for: id) { return answer }
            let answer = aggregate(try values(of: collection))
            memo.note(answer, of: question, for: id)
            return answer
        case .function(.element(let position), let arguments):
            guard let collection = arguments.first else { return .null }
            return ResolvedFunction.element(position)(collections: [try values(of: collection)]).first ?? .null
        case .function(let function, let arguments):
            var values: [AttributeValue] = []
            for argument in arguments { values.append(try value(of: argument)) }
            return function(values)
        case .conditional(let condition, let first, let second):
            return try holds(condition.node) ? value(of: first) : value(of: second)
        case .values, .list, .subquery: return .null
        }
    }

    /// The values of an expression; a single value counts as a collection of one.
    func values(of expression: ResolvedExpression) throws(Subject.Failure) -> [AttributeValue] {
        switch expression {
        case .values(let values): return values
        case .list(let elements):
            var values: [AttributeValue] = []
            for element in elements { values.append(try value(of: element)) }
            return values
        case .path(let path) where path.isToMany: return try values(of: path)
        case .function(let function, let arguments) where function.givesCollection:
            var collections: [[AttributeValue]] = []
            for argument in arguments { collections.append(try values(of: argument)) }
            return function(collections: collections)
        case .subquery(let collection, _, let condition):
            var ids: [AttributeValue] = []
            for case let element? in try objects(at: collection.steps[...], from: collection.base) {
                let inner = PredicateEvaluation(subject: subject, variables: variables + [element], memo: memo)
                if try inner.holds(condition.node) { ids.append(.objectID(element.objectID)) }
            }
            return ids
        case .value, .path, .aggregate, .function, .conditional: return [try value(of: expression)]
        }
    }

    /// The value at the end of a path without to-many steps.
    func value(of path: ResolvedKeyPath) throws(Subject.Failure) -> AttributeValue {
        var object = base(path.base)
        for (index, step) in path.steps.enumerated() {
            if index == path.steps.count - 1, path.terminal == .object {
                return try object.destinationID(at: step.slot).map(AttributeValue.objectID) ?? .null
            }
            guard let next = try object.destination(at: step.slot) else { return .null }
            object = next
        }
        return try terminal(path.terminal, of: object)
    }

    /// The values at the ends of a path with to-many steps.
    private func values(of path: ResolvedKeyPath) throws(Subject.Failure) -> [AttributeValue] {
        guard let last = path.steps.last else { return [] }
        var values: [AttributeValue] = []
        if path.terminal == .object {
            for object in try objects(at: path.steps.dropLast(), from: path.base) {
                if last.isToMany {
                    values += try object?.destinationIDs(at: last.slot).map(AttributeValue.objectID) ?? []
                } else {
                    values.append(try object?.destinationID(at: last.slot).map(AttributeValue.objectID) ?? .null)
                }
            }
        } else {
            for object in try objects(at: path.steps[...], from: path.base) {
                if let object { values.append(try terminal(path.terminal, of: object)) } else { values.append(.null) }
            }
        }
        return values
    }

    /// The objects at the ends of `steps`; `nil` for each branch that ends at an empty to-one relationship.
    private func objects(
        at steps: ArraySlice<ResolvedKeyPath.Step>, from start: ResolvedKeyPath.Base
    ) throws(Subject.Failure) -> [Subject?] {
        var objects: [Subject?] = [base(start)]
        for step in steps {
            var next: [Subject?] = []
            for object in objects {
                if !step.isToMany {
                    next.append(try object?.destination(at: step.slot))
                } else if let object {
                    for destination in try object.destinations(at: step.slot) { next.append(destination) }
                }
            }
            objects = next
        }
        return objects
    }

    private func base(_ base: ResolvedKeyPath.Base) -> Subject {
        switch base {
        case .evaluatedObject: subject
        case .variable(let number): variables[number]
        }
    }

    private func terminal(
        _ terminal: ResolvedKeyPath.Terminal, of object: Subject
    ) throws(Subject.Failure) -> AttributeValue {
        switch terminal {
        case .object: return .objectID(object.objectID)
        case .entityName: return .string(object.entity.name)
        case .attribute(let slot, _, let elements):
            var value = try object.value(at: slot)
            for element in elements {
                guard case .composite(let parts) = value else { return .null }
                value = parts[element, default: .null]
            }
            return value
        }
    }
}

extension AttributeValue {
    /// Whether the comparison of this value with `other` holds, by the rules for null at the top of this file.
    package func satisfies(
        _ operator: FetchPredicate.Comparison.Operator, _ other: AttributeValue,
        _ options: FetchPredicate.Comparison.Options
    ) -> Bool {
        switch `operator` {
        case .equal: return compare(other, options: options) == .orderedSame
        case .notEqual: return compare(other, options: options) != .orderedSame
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            guard !isNull, !other.isNull, !isNaN, !other.isNaN else { return false }
            let order = compare(other, options: options)
            switch `operator` {
            case .lessThan: return order == .orderedAscending
            case .lessThanOrEqual: return order != .orderedDescending
            case .greaterThan: return order == .orderedDescending
            default: return order != .orderedAscending
            }
        case .between, .in, .contains, .beginsWith, .endsWith, .like, .matches: return false
        }
    }
}

extension [AttributeValue] {
    /// Whether one of the values equals `value`.
    ///
    /// The values ascend under `options`.
    ///
    /// - Complexity: O(log n) comparisons.
    func containsSorted(_ value: AttributeValue, _ options: FetchPredicate.Comparison.Options) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            switch self[middle].compare(value, options: options) {
            case .orderedSame: return true
            case .orderedAscending: low = middle + 1
            case .orderedDescending: high = middle
            }
        }
        return false
    }
}
