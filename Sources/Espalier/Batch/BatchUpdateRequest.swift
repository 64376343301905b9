// A request that sets properties of many rows without making objects of them.

public import EspalierModel
public import EspalierStore
public import FoundationEssentials

/// A request that sets properties of all rows that match (BR-04).
///
/// ```swift
/// var request = try BatchUpdateRequest(Album.self, where: #Predicate { $0.year < 1960 })
/// try request.set(\Album.isClassic, to: true)
/// try request.set(\.plays, to: #Expression<Album, Int> { $0.plays + 1 })
/// let count = try context.execute(request).count
/// ```
///
/// Expressions are computed from the rows as they were before the request, each converted to the type of its property;
/// a row that cannot have its value ends the request. Rows change in the store, with their versions, or none of them.
public struct BatchUpdateRequest {
    /// The entity of the rows.
    public let entityName: String
    /// The condition; `nil` = all rows.
    public var predicate: FetchPredicate?
    /// Whether rows of entities that inherit from it are changed too.
    public var includesSubentities = true
    /// The identifiers of the stores whose rows are changed; `nil` = all (FR-15).
    public var affectedStores: [UUID]?
    /// The new values by name of the property: constants, or expressions (`FetchExpression`).
    ///
    /// Attributes that are stored, and to-one relationships, whose values are object IDs. A request that sets none
    /// changes no row.
    public var propertiesToUpdate: [String: any PredicateArgument]
    /// Whether new values must follow the rules of the model: required values, and validation rules of attributes.
    ///
    /// Types, destinations and uniqueness are checked in any case. Hooks of the class are not called.
    public var validates = true
    /// Whether the result has the IDs of the rows: 16 bytes for each row, which are all in memory.
    public var returnsObjectIDs = false
    /// Gets the number of rows that are done, and can cancel the request.
    public var progress: BatchProgress?
    /// New values of properties that were set by key path.
    private(set) var swiftValues: [String: Any] = [:]

    /// A request for rows of an entity.
    public init(
        entityName: String, predicate: FetchPredicate? = nil,
        propertiesToUpdate: [String: any PredicateArgument] = [:]
    ) {
        (self.entityName, self.predicate) = (entityName, predicate)
        self.propertiesToUpdate = propertiesToUpdate
    }

    /// A request for objects of a class.
    ///
    /// - Throws: `FetchPredicateError.Reason.untranslatable`, with `place`, for an expression without a counterpart.
    public init<Object: ManagedObject>(
        _ type: Object.Type, where predicate: Predicate<Object>? = nil, fileID: String = #fileID, line: Int = #line
    ) throws(FetchPredicateError) {
        self.init(entityName: Object.entityName)
        if let predicate { self.predicate = try FetchPredicate(ofStored: predicate, fileID, line) }
    }

    /// Sets a property of the class to a constant.
    ///
    /// - Throws: `FetchPredicateError.Reason.untranslatable`, with `place`, for a key path of a property that is not in
    ///   the model.
    public mutating func set<Object: ManagedObject, Value>(
        _ property: KeyPath<Object, Value>, to value: Value, fileID: String = #fileID, line: Int = #line
    ) throws(FetchPredicateError) {
        try note(property, Object.self, value, fileID, line)
    }

    /// Leads a to-one relationship of the class to a stored object.
    ///
    /// - Throws: as for constants.
    public mutating func set<Object: ManagedObject, Destination: ManagedObject>(
        _ relationship: KeyPath<Object, Destination?>, to destination: Ref<Destination>?, fileID: String = #fileID,
        line: Int = #line
    ) throws(FetchPredicateError) {
        try note(relationship, Object.self, destination as Any, fileID, line)
    }

    /// Sets a property of the class to the value that an expression has for each object.
    ///
    /// - Throws: as for constants; also for an expression without a counterpart.
    public mutating func set<Object: ManagedObject, Value>(
        _ property: KeyPath<Object, Value>, to expression: Expression<Object, Value>, fileID: String = #fileID,
        line: Int = #line
    ) throws(FetchPredicateError) {
        let value = try FetchExpression(expression, fileID: fileID, line: line)
        try note(property, Object.self, value, fileID, line)
    }

    /// Sets an optional property of the class to the value that an expression has for each object.
    ///
    /// - Throws: as for constants; also for an expression without a counterpart.
    public mutating func set<Object: ManagedObject, Value>(
        _ property: KeyPath<Object, Value?>, to expression: Expression<Object, Value>, fileID: String = #fileID,
        line: Int = #line
    ) throws(FetchPredicateError) {
        let value = try FetchExpression(expression, fileID: fileID, line: line)
        try note(property, Object.self, value, fileID, line)
    }

    private mutating func note(
        _ path: AnyKeyPath, _ objectClass: ManagedObject.Type, _ value: Any, _ fileID: String, _ line: Int
    ) throws(FetchPredicateError) {
        guard let name = PropertyPaths.of(objectClass).name(of: path) else {
            throw FetchPredicateError(
                .untranslatable("\(path)", because: "it leads to no property of the model"), subject: "property",
                fileID: fileID, line: line)
        }
        if let expression = value as? FetchExpression {
            (propertiesToUpdate[name], swiftValues[name]) = (expression, nil)
        } else {
            (propertiesToUpdate[name], swiftValues[name]) = (nil, value)
        }
    }

    /// The assignments of the request.
    func assignments(
        of entity: Entity, in model: ManagedObjectModel
    ) throws(AssignmentError) -> [ResolvedAssignment] {
        var assignments: [ResolvedAssignment] = []
        for (name, value) in propertiesToUpdate.sorted(by: { $0.key < $1.key }) {
            assignments.append(try ResolvedAssignment(name, value.predicateExpression, for: entity, in: model))
        }
        for (name, value) in swiftValues.sorted(by: { $0.key < $1.key }) where propertiesToUpdate[name] == nil {
            let constant = try entity.value(of: value, for: try entity.assignableProperty(named: name))
            assignments.append(try ResolvedAssignment(name, .value(constant), for: entity, in: model))
        }
        return assignments
    }
}
