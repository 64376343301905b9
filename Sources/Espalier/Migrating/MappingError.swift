// The errors of mapping models: a rule that does not fit the models, and a hook that failed.

public import EspalierModel
public import EspalierStore

/// The reason why a mapping model did not migrate a store; the file is as it was.
public enum MappingError: Error {
    /// Two mappings have the same name.
    case duplicateName(String)
    /// A mapping names an entity that a model does not have, or an abstract destination.
    case unknownEntity(mapping: String, name: String, model: String, known: [String])
    /// A rule names a property that an entity does not have, or one of the wrong kind.
    case unknownProperty(mapping: String, property: String, entity: String, known: [String])
    /// A rule names a mapping that the model does not have.
    case unknownMapping(mapping: String, name: String, known: [String])
    /// A description has an expression that has no form here; `property` is `nil` for the request for source objects.
    case unsupportedExpression(mapping: String, property: String?, expression: String)
    /// A description names a class with hooks, and no policy was given for it.
    case missingPolicy(mapping: String, className: String, known: [String])
    /// The condition of a description is not a predicate.
    case invalidPredicate(mapping: String, FetchPredicateError)
    /// A to-one relationship would lead to several objects.
    case severalDestinations(mapping: String, property: String, source: ObjectID)
    /// A hook, a rule or the save of the objects failed (134170).
    case failed(mapping: String, step: String, source: ObjectID?, underlying: any Error)
    /// The store could not be read or written, or refuses the migration.
    case store(StoreError)

    /// Core Data's number for this error.
    public var code: Int {
        switch self {
        case .duplicateName, .unknownEntity, .unknownProperty, .unknownMapping, .unsupportedExpression, .missingPolicy,
            .invalidPredicate:
            134140
        case .severalDestinations, .failed: 134170
        case .store(let error): ContextError(error).code
        }
    }
}

extension MappingError: CustomStringConvertible {
    /// The mapping, the element, the problem and the remedy.
    public var description: String {
        func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }
        switch self {
        case .duplicateName(let name): return "two mappings are called \(name): give one of them another name"
        case .unknownEntity(let mapping, let name, let model, let known):
            return "mapping \(mapping): the \(model) model has no entity \(name) that can have objects; it has "
                + list(known)
        case .unknownProperty(let mapping, let property, let entity, let known):
            return "mapping \(mapping): \(property) is no property of \(entity) for such a rule; possible are "
                + list(known)
        case .unknownMapping(let mapping, let name, let known):
            return "mapping \(mapping): there is no mapping \(name); the mappings are \(list(known))"
        case .unsupportedExpression(let mapping, nil, let expression):
            return "mapping \(mapping): the request for its objects, \(expression), has no form here: remove it from "
                + "the description, and give the mapping a predicate or a policy"
        case .unsupportedExpression(let mapping, let property?, let expression):
            return "mapping \(mapping): the expression of \(property), \(expression), has no form here: replace "
                + "\(mapping).\(property) by a rule in code"
        case .missingPolicy(let mapping, let className, let known):
            return "mapping \(mapping): there is no policy for the class \(className): pass one under this name; "
                + "there are policies for \(list(known))"
        case .invalidPredicate(let mapping, let error):
            return "mapping \(mapping): its condition is not a predicate: \(error)"
        case .severalDestinations(let mapping, let property, let source):
            return "mapping \(mapping): \(property) leads to one object, but \(source) has several for it: name a "
                + "mapping with `through`, or set it in a policy"
        case .failed(let mapping, let step, let source, let error):
            return "mapping \(mapping), \(step)\(source.map { ", \($0)" } ?? ""): \(error)"
        case .store(let error): return "\(error)"
        }
    }
}
