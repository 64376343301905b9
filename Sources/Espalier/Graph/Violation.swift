// One problem that makes a save fail: the object, the property, the reason, and in the text the way to correct it.

public import EspalierModel
import EspalierStore
import FoundationEssentials

/// A broken rule, or a change that was refused.
///
/// A failed save reports all violations together (F-5): the first 1,000 in full, and the number of the others.
public struct Violation: Error, Sendable, CustomStringConvertible {
    /// The reason of a violation.
    public enum Reason: Sendable {
        /// A property that must have a value has none.
        case missingValue
        /// An integer does not fit the attribute's type.
        case outOfRange(value: AttributeValue, minimum: Int64, maximum: Int64)
        /// A value breaks a rule of its attribute (MD-16).
        case ruleBroken(ValidationRule, value: AttributeValue)
        /// A relationship has fewer destinations than it must have.
        case tooFewDestinations(count: Int, minimum: Int)
        /// A relationship has more destinations than it may have.
        case tooManyDestinations(count: Int, maximum: Int)
        /// The object is deleted, but a relationship with rule deny still has these destinations.
        case deniedDelete(destinations: [ObjectID])
        /// A rule of the application's own, with its message; or a hook or a merge policy has thrown an error with this
        /// text (`Violation.underlying`).
        case custom(String)
        /// Refused: a value or an object of another type.
        case wrongType(found: String, expected: String)
        /// Refused: the entity has no such property.
        case unknownKey(known: [String])
        /// Refused: stores compute the value, by this expression (MD-27).
        case derivedAttribute(expression: String)
        /// Refused: the value is the result of a request (FR-24).
        case fetchedProperty
        /// Refused: the object belongs to another context; fetch it in this one by its ID.
        case objectOfOtherContext(ObjectID)
        /// Refused: a deleted object cannot be a destination.
        case destinationIsDeleted(ObjectID)
        /// Refused: the object itself is deleted or belongs to no context any more.
        case objectIsDeleted
        /// Refused: the object was merged into this row, for which its context has another object.
        case objectIsMerged(into: ObjectID)
        /// Refused: the object's row was deleted from the store.
        case rowIsGone
        /// Refused: an ordered relationship has no such index.
        case indexOutOfRange(Int, count: Int)
        /// Refused: neither object is in a context.
        case noContext
        /// Refused: the entity is abstract.
        case abstractEntity
        /// Refused: the model has no such entity.
        case unknownEntity(known: [String])
        /// Refused: the call would discard changes that the running save is about to write.
        case notWhileSaving(call: String, hook: String)
        /// The property's type has no such value: for example, the stored raw value belongs to no case of an
        /// enumeration.
        case unknownValue(AttributeValue, type: String)
        /// A transformable attribute could not be written, or was not read.
        case transformer(AttributeTransformerError)
        /// A batch request has computed a value that the property cannot have (BR-04).
        case assignment(AssignmentError)
        /// The store could not read the contents of a property.
        case unreadable(String)
        /// `count` more violations, of any objects: a save reports only the first 1,000 in full.
        case more(count: Int)
    }

    /// The ID of the object; `nil` if it never was in a context.
    public let object: ObjectID?
    /// Its entity.
    public let entityName: String
    /// The name of the property; `nil` if the violation concerns the object as a whole.
    public let property: String?
    /// The reason.
    public let reason: Reason
    /// The position of the row, from 0, if it is one of a batch insertion (BR-01); `nil` otherwise.
    public private(set) var row: Int?
    /// The error for which a violation with the reason `custom` stands; `nil` if there is none.
    public private(set) var underlying: (any Error)?
    /// The value and the remedy of a rule of the application's own.
    private var own: (value: AttributeValue?, remedy: String?) = (nil, nil)
    /// The words of the language of the model, if it has one (MD-07).
    private let messages: MessageTable?

    /// A broken rule of the application's own, for a hook to throw (MO-38).
    ///
    /// A hook that finds several throws `ContextError.violations` with all of them. In code with types,
    /// ``EntityClass/violation(at:value:message:remedy:underlying:)`` names the property by key path.
    ///
    /// - Parameters:
    ///   - object: the object that breaks the rule.
    ///   - property: the name of the property; `nil` if the rule concerns the object as a whole.
    ///   - value: the value that is wrong.
    ///   - message: the problem, as a sentence without its end; a `MessageTable` translates it (`rules`).
    ///   - remedy: the way to correct it, as a sentence without its end.
    ///   - underlying: the error that has led to this violation.
    public init(
        _ object: ManagedObject, property: String? = nil, value: AttributeValue? = nil, message: String,
        remedy: String? = nil, underlying: (any Error)? = nil
    ) {
        self.init(object, property, .custom(message))
        own = (value, remedy)
        self.underlying = underlying
    }

    init(_ object: ManagedObject, _ property: String?, _ reason: Reason) {
        (self.object, entityName, self.property) = (object.storedID, object.entity.name, property)
        self.reason = reason
        messages = object.managedObjectContext?.model.messages
    }

    init(_ object: ObjectID?, entityName: String, property: String? = nil, _ reason: Reason) {
        (self.object, self.entityName, self.property, self.reason) = (object, entityName, property, reason)
        messages = nil
    }

    /// A row of a batch request that breaks a rule.
    init(_ broken: BrokenRule) {
        let reason: Reason =
            switch broken.kind {
            case .missingValue: .missingValue
            case .rule(let rule, let value): .ruleBroken(rule, value: value)
            case .assignment(let error): .assignment(error)
            }
        self.init(broken.row, entityName: broken.entityName, property: broken.property, reason)
        row = broken.position
    }

    /// Core Data's number for this violation, as the article Behaviour lists them; 1550 if there is no specific number.
    public var code: Int {
        switch reason {
        case .missingValue: 1570
        case .outOfRange(let value, let minimum, _): value.isBelow(minimum) ? 1620 : 1610
        case .ruleBroken(let rule, let value): rule.code(for: value)
        case .tooFewDestinations: 1580
        case .tooManyDestinations: 1590
        case .deniedDelete: 1600
        case .rowIsGone, .unreadable: 133000
        case .transformer: 134060
        case .custom, .wrongType, .unknownKey, .derivedAttribute, .fetchedProperty, .unknownValue,
            .objectOfOtherContext,
            .destinationIsDeleted, .objectIsDeleted, .objectIsMerged, .indexOutOfRange, .noContext, .abstractEntity,
            .unknownEntity,
            .notWhileSaving, .assignment, .more:
            1550
        }
    }

    /// The value that is wrong, if the violation is about one; `.null` for a missing one.
    public var value: AttributeValue? {
        switch reason {
        case .outOfRange(let value, _, _), .ruleBroken(_, let value), .unknownValue(let value, _): value
        case .missingValue: .null
        case .custom: own.value
        case .tooFewDestinations, .tooManyDestinations, .deniedDelete, .wrongType, .unknownKey,
            .derivedAttribute, .fetchedProperty, .objectOfOtherContext, .destinationIsDeleted, .objectIsDeleted,
            .objectIsMerged,
            .rowIsGone,
            .indexOutOfRange, .noContext, .abstractEntity, .unknownEntity, .notWhileSaving, .transformer, .assignment,
            .unreadable, .more:
            nil
        }
    }

    /// The way to correct it, as a sentence without its end.
    public var remedy: String { own.remedy ?? reason.remedy }
    /// Whether the application has said how to correct it.
    var hasOwnRemedy: Bool { own.remedy != nil }

    /// `Entity.property of <ID>: the problem; the way to correct it`, or the message of the model in its language
    /// (MD-07).
    public var description: String { messages.map { message($0) } ?? text(entityName, property) }

    /// The description with these names.
    func text(_ entityName: String, _ property: String?) -> String {
        let place =
            entityName + (property.map { ".\($0)" } ?? "") + (object.map { " of \($0)" } ?? "")
            + (row.map { " of row \($0)" } ?? "")
        return "\(place): \(reason.text)" + (own.remedy.map { "; \($0)" } ?? "")
    }
}

extension Violation.Reason {
    /// The limit that a value or a count breaks, as a message shows it.
    var limit: String? {
        switch self {
        case .ruleBroken(let rule, _): rule.limit
        case .outOfRange(let value, let minimum, let maximum):
            "\(value.isBelow(minimum) ? minimum : maximum)"
        case .tooFewDestinations(_, let minimum): "\(minimum)"
        case .tooManyDestinations(_, let maximum): "\(maximum)"
        default: nil
        }
    }

    fileprivate var remedy: String {
        switch self {
        case .missingValue: "set the property"
        case .outOfRange(_, let minimum, let maximum): "set a value from \(minimum) to \(maximum)"
        case .ruleBroken(let rule, _): "set a value that \(rule.demand)"
        case .tooFewDestinations(_, let minimum): "relate at least \(minimum) objects"
        case .tooManyDestinations(_, let maximum): "relate at most \(maximum) objects"
        case .deniedDelete: "delete or relate the destinations elsewhere first"
        case .custom: "correct what the class has found"
        case .wrongType(_, let expected): "pass \(expected)"
        case .unknownKey(let known): "use one of \(known.joined(separator: ", "))"
        case .fetchedProperty: "change the objects that its request finds"
        case .derivedAttribute: "set the values from which it is derived"
        case .objectOfOtherContext(let id): "pass existingObject(with: \(id)) of this context"
        case .destinationIsDeleted: "relate an object that is not deleted"
        case .objectIsDeleted: "fetch the object again, or insert another"
        case .objectIsMerged(let id): "use existingObject(with: \(id))"
        case .rowIsGone: "delete the object here too, or insert another"
        case .indexOutOfRange(_, let count): "use an index below \(count)"
        case .noContext: "insert one of the two objects into a context first"
        case .abstractEntity: "insert an object of a subentity"
        case .unknownEntity(let known): "use one of \(known.joined(separator: ", "))"
        case .notWhileSaving(let call, _): "call \(call) after save() has returned"
        case .unknownValue: "set the property, or add the case"
        case .assignment: "correct the expression, or leave the row out"
        case .transformer: "register the transformer, or set a value that it accepts"
        case .unreadable: "read the object again"
        case .more: "correct the reported ones and save again"
        }
    }

    fileprivate var text: String {
        switch self {
        case .missingValue:
            "has no value, but must have one"
        case .outOfRange(let value, let minimum, let maximum):
            "\(value.text) is out of range; the value must be from \(minimum) to \(maximum)"
        case .ruleBroken(let rule, let value):
            rule.message ?? "\(value.text) \(rule.text)"
        case .tooFewDestinations(let count, let minimum):
            "has \(count) destinations; it must have at least \(minimum), or none if it is optional"
        case .tooManyDestinations(let count, let maximum):
            "has \(count) destinations; it can have at most \(maximum)"
        case .deniedDelete(let destinations):
            "the object cannot be deleted while this relationship has destinations: "
                + destinations.prefix(5).map { "\($0)" }.joined(separator: ", ")
                + (destinations.count > 5 ? " and \(destinations.count - 5) more" : "")
        case .custom(let text):
            text
        case .wrongType(let found, let expected):
            "the change was refused: found \(found), expected \(expected)"
        case .unknownKey(let known):
            known.isEmpty
                ? "the property does not exist; the entity has none of this kind"
                : "the property does not exist; the entity has \(known.joined(separator: ", "))"
        case .derivedAttribute(let expression):
            "the change was refused: stores derive the value by '\(expression)'; set what it is derived from"
        case .fetchedProperty:
            "the change was refused: the value is the result of a request; change the objects that the request finds"
        case .objectOfOtherContext(let id):
            "the change was refused: \(id) belongs to another context; get it in this context with "
                + "existingObject(with:)"
        case .destinationIsDeleted(let id):
            "the change was refused: \(id) is deleted; a destination must not be deleted"
        case .objectIsDeleted:
            "the change was refused: the object is deleted, or its context was reset; fetch it again, or insert another"
        case .objectIsMerged(let id):
            "the change was refused: the object was merged into another one; get that one with existingObject(with: "
                + "\(id))"
        case .rowIsGone:
            "the change was refused: the store has no row for this object any more"
        case .indexOutOfRange(let index, let count):
            "the change was refused: index \(index) is out of range for \(count) destinations"
        case .noContext:
            "the change was refused: insert one of the two objects into a context first"
        case .abstractEntity:
            "the object was not inserted: its entity is abstract; insert an object of a subentity"
        case .unknownEntity(let known):
            "the object was not inserted: the model does not have its entity; it has \(known.joined(separator: ", "))"
        case .notWhileSaving(let call, let hook):
            "\(call) was refused: it was called in \(hook) while the context was saving; call it after save() has "
                + "returned"
        case .unknownValue(let value, let type):
            "the stored value \(value.text) is not a value of \(type), so the object read another value; set it, or "
                + "add the case"
        case .transformer(let error): "\(error)"
        case .assignment(let error): "\(error)"
        case .unreadable(let reason):
            "could not be read and appeared empty: \(reason)"
        case .more(let count):
            "and \(count) more, of this entity or others; correct these and save again to see them"
        }
    }
}

extension AttributeValue {
    fileprivate func isBelow(_ minimum: Int64) -> Bool {
        if case .integer(let value) = self { value < minimum } else { false }
    }

    /// The value as a message shows it; strings are cut to 60 characters.
    var text: String {
        switch self {
        case .null: "nil"
        case .integer(let value): "\(value)"
        case .decimal(let value): "\(value)"
        case .double(let value): "\(value)"
        case .float(let value): "\(value)"
        case .string(let value): "\"\(value.prefix(60))\(value.count > 60 ? "…" : "")\""
        case .boolean(let value): "\(value)"
        case .date(let value): DateText.text(of: value)
        case .binary(let value), .transformable(let value): "\(value.count) bytes"
        case .uuid(let value): value.uuidString
        case .uri(let value): value.absoluteString
        case .objectID(let value): "\(value)"
        case .composite(let parts): "{ " + parts.keys.sorted().joined(separator: ", ") + " }"
        }
    }

    /// The kind of the value as a message names it.
    var typeName: String {
        switch self {
        case .null: "no value"
        case .integer: "an integer"
        case .decimal: "a decimal"
        case .double: "a double"
        case .float: "a float"
        case .string: "a string"
        case .boolean: "a boolean"
        case .date: "a date"
        case .binary: "binary data"
        case .uuid: "a UUID"
        case .uri: "a URI"
        case .transformable: "transformable data"
        case .objectID: "an object ID"
        case .composite: "a composite"
        }
    }
}

extension AttributeType {
    /// The type as a message names it.
    var name: String { "\(self)" }
}

extension Entity {
    /// The names of all properties, for messages.
    var propertyNames: [String] {
        attributes.map(\.name) + relationships.map(\.name) + fetchedProperties.map(\.name)
    }
}

extension ValidationRule {
    /// Core Data's number for a value that breaks the rule.
    fileprivate func code(for value: AttributeValue) -> Int {
        let isDate = if case .date = value { true } else { false }
        return switch condition {
        case .minimum: isDate ? 1640 : 1620
        case .maximum: isDate ? 1630 : 1610
        case .minimumLength: 1670
        case .maximumLength: 1660
        case .pattern: 1680
        case .predicate: 1550
        }
    }

    /// The limit, pattern or condition as a message shows it.
    fileprivate var limit: String {
        switch condition {
        case .minimum(let limit), .maximum(let limit): limit.text
        case .minimumLength(let count), .maximumLength(let count): "\(count)"
        case .pattern(let text), .predicate(let text): text
        }
    }

    /// The demand of the rule, as in "a value that ...".
    fileprivate var demand: String {
        switch condition {
        case .minimum: "is at least \(limit)"
        case .maximum: "is at most \(limit)"
        case .minimumLength: "has a length of at least \(limit)"
        case .maximumLength: "has a length of at most \(limit)"
        case .pattern: "matches \(limit)"
        case .predicate: "fulfils \(limit)"
        }
    }

    fileprivate var text: String { "breaks a rule; the value must be one that \(demand)" }
}
