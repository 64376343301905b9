// A derivation bound to a model: names resolved to slots, types checked, and computed for an object.
//
// Invariants
//   1. The source is stored, has an order, and is not the attribute itself, not even by a chain of derivations.
//   2. Stores find the objects whose values change with another one: a relationship has an inverse, unless only its
//      destinations are counted.
//   3. A condition reads nothing but the destination's own values and the IDs of its to-one destinations, and a store
//      can keep its answers (FetchPredicate+Keeping): its evaluation cannot be stopped. Only in the model of a file
//      that an older library wrote there may be others.

/// The rule for one derived attribute.
package final class ResolvedDerivation: Sendable {
    /// The source of the values.
    package enum Source: Sendable {
        /// An attribute of the object itself.
        case own(slot: Int, ResolvedFunction?)
        /// An attribute of the destination of a to-one relationship.
        case across(Relationship, slot: Int, ResolvedFunction?)
        /// The destinations of a to-many relationship.
        case list(List)
        /// The time of a save.
        case now
    }

    /// An aggregate of the destinations of a to-many relationship.
    package struct List: Sendable {
        package let relationship: Relationship
        package let aggregate: ResolvedExpression.Aggregate
        /// The attribute of the destinations; `nil` = they are counted.
        package let slot: Int?
        /// The condition for a destination to count.
        package let condition: ResolvedPredicate?
        /// The attributes and to-one relationships of a destination on which the aggregate depends.
        package let properties: Set<Entity.Property>

        /// Whether each destination counts as one.
        ///
        /// A condition that reads no property may still leave destinations out: by the name of their entity.
        package var isPlainCount: Bool { slot == nil && condition == nil }

        /// Whether a destination counts.
        package func includes<Subject: PredicateSubject>(_ subject: Subject) throws(Subject.Failure) -> Bool {
            try condition?.evaluate(on: subject) ?? true
        }
    }

    /// The derived attribute, as the entity that declares it has it.
    package let attribute: Attribute
    package let source: Source
    /// Whether a change of one destination changes the value by a whole number that does not depend on the others.
    package let isKeptByDifference: Bool

    /// - Throws: `DerivationError` if the attribute has no such derivation in the model.
    init(_ attribute: Attribute, of entity: Entity, in model: ManagedObjectModel) throws(DerivationError) {
        guard let derivation = attribute.derivation else { throw DerivationError("", "it is not derived") }
        let names = DerivationNames(attribute, derivation, entity, model)
        try names.checkAttribute()
        self.attribute = attribute
        switch derivation {
        case .value(let path): source = try names.source(at: path, nil)
        case .canonical(let path): source = try names.source(at: path, .canonical)
        case .lowercase(let path): source = try names.source(at: path, .lowercase)
        case .uppercase(let path): source = try names.source(at: path, .uppercase)
        case .count(let relationship, let condition): source = .list(try names.count(of: relationship, condition))
        case .sum(let name, let relationship): source = .list(try names.list(.sum, of: name, in: relationship))
        case .average(let name, let relationship): source = .list(try names.list(.average, of: name, in: relationship))
        case .minimum(let name, let relationship): source = .list(try names.list(.min, of: name, in: relationship))
        case .maximum(let name, let relationship): source = .list(try names.list(.max, of: name, in: relationship))
        case .now: source = .now
        }
        guard case .list(let list) = source, attribute.type.isInteger else {
            isKeptByDifference = false
            return
        }
        let destination = model.destination(of: list.relationship)
        let isWhole = list.slot.map { destination.attributes[$0].type.isInteger } ?? true
        isKeptByDifference = isWhole && (list.aggregate == .count || list.aggregate == .sum)
    }

    /// The value of the attribute of an object; `nil` if only a save can tell it.
    ///
    /// - Complexity: O(destinations) for an aggregate.
    package func value<Subject: PredicateSubject>(on subject: Subject) throws(Subject.Failure) -> AttributeValue? {
        switch source {
        case .now: return nil
        case .own(let slot, let function): return derived(try subject.value(at: slot), function)
        case .across(let relationship, let slot, let function):
            return derived(try subject.destination(at: relationship.slot)?.value(at: slot) ?? .null, function)
        case .list(let list):
            if list.isPlainCount {
                return count(try subject.destinationIDs(at: list.relationship.slot).count)
            }
            var values: [AttributeValue] = []
            for destination in try subject.destinations(at: list.relationship.slot)
            where try list.includes(destination) {
                values.append(
                    try list.slot.map { slot throws(Subject.Failure) in try destination.value(at: slot) }
                        ?? .boolean(true))
            }
            return aggregate(values, of: list)
        }
    }

    /// The value that follows from the one value of the source.
    package func derived(_ value: AttributeValue, _ function: ResolvedFunction?) -> AttributeValue {
        converted(function.map { $0([value]) } ?? value)
    }

    /// The value for so many destinations.
    package func count(_ count: Int) -> AttributeValue { converted(.integer(Int64(count))) }

    /// The value that follows from the values of the destinations.
    package func aggregate(_ values: [AttributeValue], of list: List) -> AttributeValue {
        converted(list.aggregate(values))
    }

    /// The value as one of the attribute's type; null if it has no such value.
    package func converted(_ value: AttributeValue) -> AttributeValue {
        if value.isNull || attribute.accepts(value) { return value }
        let converted = ResolvedFunction.cast(value, to: attribute.type)
        return attribute.accepts(converted) ? converted : .null
    }
}

extension AttributeType {
    /// Whether values are whole numbers.
    fileprivate var isInteger: Bool { self == .integer16 || self == .integer32 || self == .integer64 }
}

/// The names of one derivation, and what is wrong with them.
private struct DerivationNames {
    let attribute: Attribute
    let derivation: Derivation
    let entity: Entity
    let model: ManagedObjectModel

    init(_ attribute: Attribute, _ derivation: Derivation, _ entity: Entity, _ model: ManagedObjectModel) {
        (self.attribute, self.derivation, self.entity, self.model) = (attribute, derivation, entity, model)
    }

    func error(_ problem: String) -> DerivationError { DerivationError(derivation.expression, problem) }

    func checkAttribute() throws(DerivationError) {
        if attribute.isTransient { throw error("it is transient; make it stored, or compute it in its class") }
        if !attribute.defaultValue.isNull { throw error("it has a default, which no object would ever have") }
        if !attribute.type.hasKeyOrder { throw error("values of type \(attribute.type) are not derived") }
        if derivation == .now, attribute.type != .date { throw error("a time is of type date") }
    }

    func source(
        at path: String, _ function: ResolvedFunction?
    ) throws(DerivationError) -> ResolvedDerivation.Source {
        let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard names.count <= 2 else { throw error("it crosses more than one relationship") }
        var (home, relationship): (Entity, Relationship?) = (entity, nil)
        if names.count == 2 {
            let found = try self.relationship(names[0], isToMany: false, needsInverse: true)
            (home, relationship) = (model.destination(of: found), found)
        }
        let found = try self.attribute(names[names.count - 1], of: home)
        if function != nil, found.type != .string { throw error("'\(path)' is of type \(found.type), not a text") }
        let type = function == nil ? found.type : .string
        guard type == attribute.type else { throw error("it has type \(attribute.type), but its value type \(type)") }
        return relationship.map { .across($0, slot: found.slot, function) } ?? .own(slot: found.slot, function)
    }

    func count(
        of name: String, _ format: String?
    ) throws(DerivationError) -> ResolvedDerivation.List {
        guard attribute.type.isNumeric else { throw error("a count is a number, not of type \(attribute.type)") }
        let relationship = try relationship(name, isToMany: true, needsInverse: format != nil)
        var (condition, properties): (ResolvedPredicate?, Set<Entity.Property>) = (nil, [])
        if let format {
            let predicate: FetchPredicate
            do throws(FetchPredicateError) {
                predicate = try FetchPredicate(format: format)
                condition = try ResolvedPredicate(predicate, for: model.destination(of: relationship), in: model)
            } catch { throw self.error("its condition is not valid: \(error)") }
            guard let read = condition?.root.ownProperties else {
                throw error("its condition reads more than the values of one destination")
            }
            if model.judgesKeeping, let problem = predicate.keepingProblem {
                throw error("its condition cannot be kept: \(problem)")
            }
            properties = read
        }
        return ResolvedDerivation.List(
            relationship: relationship, aggregate: .count, slot: nil, condition: condition, properties: properties)
    }

    func list(
        _ aggregate: ResolvedExpression.Aggregate, of name: String, in relationshipName: String
    ) throws(DerivationError) -> ResolvedDerivation.List {
        let relationship = try relationship(relationshipName, isToMany: true, needsInverse: true)
        let found = try self.attribute(name, of: model.destination(of: relationship))
        if aggregate == .min || aggregate == .max {
            guard found.type == attribute.type else {
                throw error("it has type \(attribute.type), but its values type \(found.type)")
            }
        } else {
            guard found.type.isNumeric, attribute.type.isNumeric else { throw error("only numbers can be added") }
            let isWhole = attribute.type.isInteger
            if isWhole, aggregate == .average || !found.type.isInteger {
                throw error("the result may have a fraction; give the attribute type double or decimal")
            }
        }
        return ResolvedDerivation.List(
            relationship: relationship, aggregate: aggregate, slot: found.slot, condition: nil,
            properties: [.attribute(found.slot)])
    }

    private func relationship(
        _ name: String, isToMany: Bool, needsInverse: Bool
    ) throws(DerivationError) -> Relationship {
        guard let relationship = entity.relationship(named: name) else {
            let names = entity.relationships.map(\.name)
            let hint = NameSuggestion.nearest(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
            throw error("'\(name)' is not a relationship of '\(entity.name)'\(hint)")
        }
        if relationship.isToMany != isToMany {
            throw error("'\(name)' is \(isToMany ? "to-one; use its value" : "to-many; use an aggregate such as @sum")")
        }
        if needsInverse, relationship.inverse == nil {
            throw error("'\(name)' has no inverse, so no store finds the objects whose values change; give it one")
        }
        return relationship
    }

    private func attribute(_ name: String, of home: Entity) throws(DerivationError) -> Attribute {
        guard let found = home.attribute(named: name) else {
            let hint =
                NameSuggestion.nearest(to: name, among: home.attributes.map(\.name)).map { "; did you mean '\($0)'?" }
                ?? ""
            throw error("'\(name)' is not an attribute of '\(home.name)'\(hint)")
        }
        if found.isTransient { throw error("'\(name)' is transient, so no store has its values") }
        if !found.type.hasKeyOrder { throw error("values of type \(found.type) are not derived") }
        return found
    }
}

extension ResolvedPredicate.Node {
    /// The attributes and to-one relationships of the object itself that the condition reads; `nil` if it reads more.
    package var ownProperties: Set<Entity.Property>? {
        switch self {
        case .constant: return []
        case .not(let node): return node.ownProperties
        case .and(let nodes), .or(let nodes):
            return nodes.reduce([]) { all, node in
                all.flatMap { all in node.ownProperties.map { all.union($0) } }
            }
        case .comparison(let comparison):
            guard comparison.modifier == .direct, let left = comparison.left.ownProperties,
                let right = comparison.right.ownProperties
            else { return nil }
            return left.union(right)
        }
    }
}

extension ResolvedExpression {
    /// The attributes and to-one relationships of the object itself that the expression reads; `nil` if it reads more.
    package var ownProperties: Set<Entity.Property>? {
        switch self {
        case .value, .values: return []
        case .path(let path):
            guard path.base == .evaluatedObject else { return nil }
            switch path.terminal {
            case .attribute(let slot, _, _): return path.steps.isEmpty ? [.attribute(slot)] : nil
            case .object:
                guard let step = path.steps.first else { return nil }
                return path.steps.count == 1 && !step.isToMany ? [.relationship(step.slot)] : nil
            case .entityName: return path.steps.isEmpty ? [] : nil
            }
        case .list(let elements), .function(_, let elements):
            return elements.reduce([]) { all, element in
                all.flatMap { all in element.ownProperties.map { all.union($0) } }
            }
        case .conditional(let condition, let first, let second):
            guard let condition = condition.node.ownProperties, let first = first.ownProperties,
                let second = second.ownProperties
            else { return nil }
            return condition.union(first).union(second)
        case .aggregate, .subquery: return nil
        }
    }
}
