// One new row of a batch insertion while a closure fills it.
//
// Invariants
//   1. Every value that the row has got is one that its property accepts; the first one that is not is kept as an
//      error, which ends the request.
//   2. The row knows which properties it names: merged into another row, it gives these and no others.

public import EspalierModel
import EspalierStore

/// A row that a batch insertion is about to write, with the properties of a class (BR-02).
public struct BatchRow<Object: ManagedObject> {
    var draft: RowDraft

    /// Sets a property of the class.
    ///
    /// - Complexity: O(1).
    public mutating func set<Value>(_ property: KeyPath<Object, Value>, to value: Value) {
        draft.set(property, of: Object.self, to: value)
    }

    /// Leads a to-one relationship to a stored object.
    ///
    /// - Complexity: O(1).
    public mutating func set<Destination: ManagedObject>(
        _ relationship: KeyPath<Object, Destination?>, to destination: Ref<Destination>?
    ) {
        draft.set(relationship, of: Object.self, to: destination as Any)
    }

    /// Sets the property called `name`.
    ///
    /// - Complexity: O(1).
    public mutating func set(_ name: String, to value: any PredicateArgument) { draft.set(name, to: value) }
}

/// The values of one new row, by slot.
struct RowDraft {
    private let entity: Entity
    private let model: ManagedObjectModel
    private let defaults: [AttributeValue]
    private var values: RowValues
    private var named: NamedProperties
    /// The first value that the row cannot have.
    private(set) var error: AssignmentError?

    init(_ entity: Entity, _ model: ManagedObjectModel) {
        (self.entity, self.model) = (entity, model)
        defaults = entity.attributes.map { $0.isTransient ? .null : $0.defaultValue }
        values = RowValues(defaults, relationshipCount: entity.relationships.count)
        named = NamedProperties(
            attributeCount: entity.attributes.count, relationshipCount: entity.relationships.count)
    }

    /// Begins another row.
    mutating func reset() {
        values = RowValues(defaults, relationshipCount: entity.relationships.count)
        named.removeAll()
    }

    /// The finished row.
    var row: StoreCommand.NewRow { StoreCommand.NewRow(values, naming: named) }

    mutating func set(_ name: String, to value: any PredicateArgument) {
        set(name) { (entity, property) throws(AssignmentError) in
            guard case .value(let constant) = value.predicateExpression else {
                throw AssignmentError(entity, name, .unfit("a new row takes values, not expressions or lists"))
            }
            return constant
        }
    }

    mutating func set(_ path: AnyKeyPath, of objectClass: ManagedObject.Type, to value: Any) {
        guard let name = PropertyPaths.of(objectClass).name(of: path) else {
            let problem = "the key path \(path) leads to no property of the model"
            error = error ?? AssignmentError(entity, "\(path)", .unfit(problem))
            return
        }
        set(name) { (entity, property) throws(AssignmentError) in
            try entity.value(of: value, for: property)
        }
    }

    private mutating func set(
        _ name: String, _ value: (Entity, Entity.Property) throws(AssignmentError) -> AttributeValue
    ) {
        guard error == nil else { return }
        do throws(AssignmentError) {
            let property = try entity.assignableProperty(named: name)
            let value = try entity.converting(try value(entity, property), for: property, in: model)
            switch (property, value) {
            case (.attribute(let slot), _): values.setAttribute(value, at: slot)
            case (.relationship(let slot), .objectID(let id)): values.setDestination(id, at: slot)
            case (.relationship(let slot), _): values.setDestination(nil, at: slot)
            }
            named.insert(property)
        } catch {
            self.error = error
        }
    }
}
