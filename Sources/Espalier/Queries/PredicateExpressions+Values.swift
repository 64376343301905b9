// Variables, constants, key paths, and subscripts of constants.

import EspalierModel
import FoundationEssentials

extension PredicateExpressions.Variable: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        if let term = translator.term(of: key) { return term }
        throw TranslationProblem("a variable of type \(Output.self)", "no expression around it introduces it")
    }
}

extension PredicateExpressions.Value: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm { .constant(value) }
}

extension PredicateExpressions.NilLiteral: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .constant(Wrapped?.none as Any)
    }
}

extension PredicateExpressions.KeyPath: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let path = keyPath as Swift.KeyPath<Root.Output, Output>
        switch try translator.term(root) {
        case .constant(let value):
            guard let value = value as? Root.Output else {
                throw TranslationProblem("a property of \(Root.Output.self)", "the value is of type \(type(of: value))")
            }
            return .constant(value[keyPath: path])
        case .object(let names):
            return try property(at: path, after: names, readsTransients: translator.readsTransients)
        case .objects(let members): return try self.members(members, at: path)
        case .value(let value): return try part(of: value, at: path)
        case .condition, .range:
            throw TranslationProblem("a property of \(Root.Output.self)", "only objects, lists and texts have any")
        }
    }

    /// A property of the object at the end of a path.
    private func property(
        at path: AnyKeyPath, after names: [String], readsTransients: Bool
    ) throws(TranslationProblem) -> QueryTerm {
        guard let objectClass = Root.Output.self as? ManagedObject.Type else {
            throw TranslationProblem(
                "a property of \(Root.Output.self)", "the class is not an entity class; use the class itself")
        }
        let paths = PropertyPaths.of(objectClass)
        guard let name = paths.name(of: path) else { throw .unmodelled(path, of: objectClass, paths) }
        if !readsTransients, paths.isTransient(name) { throw .transient("\(objectClass).\(name)") }
        let longer = names + [name]
        if Output.self is any ToOneProperty.Type { return .object(longer) }
        guard Output.self is any ToManyProperty.Type else { return .value(.path(longer)) }
        return .objects(QueryMembers(path: longer))
    }

    /// `count`, `isEmpty`, `first` or `last` of a list.
    private func members(_ members: QueryMembers, at path: AnyKeyPath) throws(TranslationProblem) -> QueryTerm {
        switch (Root.Output.self as? any ToManyProperty.Type)?.memberPath(of: path) {
        case .count?: return .value(members.count)
        case .isEmpty?:
            return .condition(.comparison(.init(members.count, .equal, .value(.integer(0)))), present: nil)
        case .first? where members.filter == nil: return .value(members.element("FIRST"))
        case .last? where members.filter == nil: return .value(members.element("LAST"))
        case .first?, .last?, nil:
            throw TranslationProblem(
                "a property of type \(Output.self) of the list '\(members.path.joined(separator: "."))'",
                "lists have count and isEmpty, and ordered relationships also first and last")
        }
    }

    /// `count` or `isEmpty` of a text, or the raw value of an enum.
    private func part(of value: FetchExpression, at path: AnyKeyPath) throws(TranslationProblem) -> QueryTerm {
        if path == \String.isEmpty {
            return .condition(.comparison(.init(value, .equal, .value(.string("")))), present: nil)
        }
        if path == \String.count { return .value(.function("characterCount", [value])) }
        if isStoredValue(path, of: Root.Output.self) { return .value(value) }
        throw TranslationProblem(
            "a property of type \(Output.self) of '\(value)'",
            "an attribute's value is compared as a whole; texts have count and isEmpty, and enums that are "
                + "CaseIterable have rawValue")
    }
}

extension TranslationProblem {
    /// A transient property in a request to stores.
    static func transient(_ property: String) -> TranslationProblem {
        TranslationProblem(
            "the property '\(property)'",
            "it is transient, so no store has its values; fetch the objects, and filter or sort them in memory")
    }

    /// A key path that leads to no modelled property.
    static func unmodelled(
        _ path: AnyKeyPath, of objectClass: ManagedObject.Type, _ paths: PropertyPaths
    ) -> TranslationProblem {
        let names = paths.propertyNames
        let reason =
            names.isEmpty
            ? "the class \(objectClass) is not marked with @Entity, or belongs to an actor"
            : "it is computed or not in the model; the stored properties of \(objectClass) are "
                + names.joined(separator: ", ")
        return TranslationProblem("the property \(path) of type \(type(of: path).valueType)", reason)
    }
}

extension QueryMembers {
    /// The first or last member of an ordered relationship, or the one at an index.
    func element(_ word: String) -> FetchExpression { element(.value(.string(word))) }

    /// The member at an index.
    func element(_ index: FetchExpression) -> FetchExpression {
        .function("objectFrom:withIndex:", [.keyPath(FetchKeyPath(path)), index])
    }
}

/// A key path that every list has.
enum MemberPath {
    case count, isEmpty, first, last
}

/// The type of a to-many relationship's property.
protocol ToManyProperty {
    static func memberPath(of path: AnyKeyPath) -> MemberPath?
}

extension ToMany: ToManyProperty {
    static func memberPath(of path: AnyKeyPath) -> MemberPath? {
        path == \Self.count ? .count : path == \Self.isEmpty ? .isEmpty : nil
    }
}

extension OrderedToMany: ToManyProperty {
    static func memberPath(of path: AnyKeyPath) -> MemberPath? {
        if path == \Self.first || path == \Self.last { return path == \Self.first ? .first : .last }
        return path == \Self.count ? .count : path == \Self.isEmpty ? .isEmpty : nil
    }
}

extension Set: ToManyProperty where Element: ManagedObject {
    static func memberPath(of path: AnyKeyPath) -> MemberPath? { Espalier.memberPath(path, of: Element.self) }
}

/// A path of a set.
///
/// Generic over `Hashable`: the compiler (Swift 6.3.1) crashes on a key path of a set whose element is a subclass.
private func memberPath<Element: Hashable>(_ path: AnyKeyPath, of type: Element.Type) -> MemberPath? {
    path == \Set<Element>.count ? .count : path == \Set<Element>.isEmpty ? .isEmpty : nil
}

extension Array: ToManyProperty where Element: ManagedObject {
    static func memberPath(of path: AnyKeyPath) -> MemberPath? {
        if path == \Self.first || path == \Self.last { return path == \Self.first ? .first : .last }
        return path == \Self.count ? .count : path == \Self.isEmpty ? .isEmpty : nil
    }
}

/// Whether a property of an enum is what its attribute stores, for each case: its raw value.
private func isStoredValue(_ path: AnyKeyPath, of type: Any.Type) -> Bool {
    func isStored<Value: CaseIterable & AttributeConvertible>(_ type: Value.Type) -> Bool {
        type.allCases.allSatisfy { value in
            (value[keyPath: path] as? any AttributeConvertible)?.attributeValue == value.attributeValue
        }
    }
    guard let type = type as? any (CaseIterable & AttributeConvertible).Type else { return false }
    return isStored(type)
}

extension PredicateExpressions.CollectionIndexSubscript: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let (list, position) = (try translator.term(wrapped), try translator.term(index))
        if case .constant(let value as Wrapped.Output) = list, case .constant(let index as Index.Output) = position {
            guard index >= value.startIndex, index < value.endIndex else {
                throw TranslationProblem("the element at \(index)", "the constant has no such index")
            }
            return .constant(value[index])
        }
        guard case .objects(let members) = list, members.filter == nil, case .constant(let index as Int) = position,
            index >= 0
        else {
            throw TranslationProblem(
                "an element of \(PredicateTranslator.description(of: list))",
                "only members of an ordered relationship have an index, a constant from 0")
        }
        return .value(members.element(.value(.integer(Int64(index)))))
    }
}

extension PredicateExpressions.CollectionRangeSubscript: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let (list, position) = (try translator.term(wrapped), try translator.term(range))
        guard case .constant(let value as Wrapped.Output) = list, let range = indices(position) else {
            throw TranslationProblem(
                "a part of \(PredicateTranslator.description(of: list))", "only constants have parts")
        }
        guard range.lowerBound >= value.startIndex, range.upperBound <= value.endIndex else {
            throw TranslationProblem("the part \(range)", "the constant has no such indices")
        }
        return .constant(value[range])
    }

    /// The indices between two bounds, if both are constants.
    private func indices(_ term: QueryTerm) -> Range.Output? {
        switch term {
        case .constant(let value): return value as? Range.Output
        case .range(let bounds):
            // A range that is written in the predicate, and not captured by it.
            guard case .value(.integer(let lower))? = bounds.lower, case .value(.integer(let upper))? = bounds.upper,
                !bounds.isClosed, lower <= upper
            else { return nil }
            return (Int(lower)..<Int(upper)) as? Range.Output
        case .condition, .value, .object, .objects: return nil
        }
    }
}

extension PredicateExpressions.DictionaryKeySubscript: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        guard case .constant(let value as [Key.Output: Value]) = try translator.term(wrapped),
            case .constant(let key as Key.Output) = try translator.term(key)
        else { throw .computedKey }
        return .constant(value[key] as Any)
    }
}

extension PredicateExpressions.DictionaryKeyDefaultValueSubscript: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        guard case .constant(let value as [Key.Output: Default.Output]) = try translator.term(wrapped),
            case .constant(let key as Key.Output) = try translator.term(key)
        else { throw .computedKey }
        if let value = value[key] { return .constant(value) }
        return try translator.term(self.default)
    }
}

extension TranslationProblem {
    fileprivate static var computedKey: TranslationProblem {
        TranslationProblem(
            "an element of a dictionary",
            "dictionary and key must be constants; use contains with the keys that have the wanted value")
    }
}
