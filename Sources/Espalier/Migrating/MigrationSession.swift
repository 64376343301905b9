// The two sides of a migration by mappings while it runs, and the objects that come from one another.
//
// Invariants
//   1. The source context shows the store as it was; it cannot be saved.
//   2. The destination context is saved once, after the last hook; its store commits nothing before all checks.
//   3. Every object that a mapping made is noted once, in the order in which it was made.

public import EspalierModel
public import EspalierStore

/// The state of a migration by mappings, which hooks get (Behaviour MG-10).
///
/// It is used on the thread that migrates.
public final class MigrationSession {
    /// The mappings.
    public var mappingModel: MappingModel { rules.model }
    /// The model of the store as it was.
    public var sourceModel: ManagedObjectModel { rules.former }
    /// The model of the store as it becomes.
    public var destinationModel: ManagedObjectModel { rules.newer }
    /// The objects as they were, of all entities, for reading.
    public let sourceContext: ManagedObjectContext
    /// The objects as they become: those that mappings have made, and those of entities that are not mapped.
    public let destinationContext: ManagedObjectContext
    /// Values that hooks keep for one another.
    public var userInfo: [String: Any] = [:]
    /// The progress; a hook may cancel the migration by it.
    public let progress: MigrationProgress?

    /// The objects that one mapping has made.
    struct Made {
        /// In the order in which they were made.
        var objects: [(object: ManagedObject, source: ObjectID?)] = []
        /// The positions in `objects` by source.
        var bySource: [ObjectID: [Int]] = [:]
    }

    let rules: MappingRules
    let open: MappedMigration
    let migration: MigrationOptions
    /// By position of the mapping.
    private(set) var made: [Made]
    /// The source of each object that was made.
    private var sources: [ObjectIdentifier: ObjectID] = [:]
    var failures = MappingFailures()

    init(_ open: MappedMigration, _ rules: MappingRules, _ migration: MigrationOptions) {
        (self.open, self.rules, self.migration) = (open, rules, migration)
        progress = migration.progress
        func context(_ model: ManagedObjectModel, _ store: BTreeStore, _ name: String) -> ManagedObjectContext {
            let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            coordinator.add(store)
            let context = ManagedObjectContext(coordinator)
            context.name = name
            return context
        }
        sourceContext = context(rules.former, open.source, "migration source")
        destinationContext = context(rules.newer, open.destination, "migration destination")
        made = Array(repeating: Made(), count: rules.mappings.count)
    }

    // MARK: Objects that come from one another

    /// Notes that a mapping has made `destination` from `source`.
    ///
    /// `createDestinationInstance` does so itself.
    ///
    /// - Parameter source: `nil` for an object without a source.
    public func associate(_ source: ManagedObject?, with destination: ManagedObject, _ mapping: EntityMapping) {
        guard let position = rules.positions[mapping.name],
            sources.updateValue(source?.storedID ?? destination.storedID, forKey: ObjectIdentifier(destination)) == nil
        else { return }
        if let source { made[position].bySource[source.storedID, default: []].append(made[position].objects.count) }
        made[position].objects.append((destination, source?.storedID))
    }

    /// The objects that a mapping has made from `sources`, in their order.
    ///
    /// - Returns: none for a name that is not a mapping's.
    public func destinationInstances(
        forEntityMappingNamed name: String, sources: [ManagedObject]
    ) -> [ManagedObject] {
        guard let position = rules.positions[name] else { return [] }
        return sources.flatMap { destinations(of: $0.storedID, position) }
    }

    /// The objects from which a mapping has made `destinations`, in their order.
    ///
    /// - Throws: `ContextError` if an object cannot be read.
    public func sourceInstances(
        forEntityMappingNamed name: String, destinations: [ManagedObject]
    ) throws(ContextError) -> [ManagedObject] {
        guard let position = rules.positions[name] else { return [] }
        var found: [ManagedObject] = []
        for destination in destinations {
            guard let id = sources[ObjectIdentifier(destination)], made[position].bySource[id] != nil else { continue }
            found.append(try sourceContext.object(with: id))
        }
        return found
    }

    /// The object of the newer store that an object of an entity without mappings becomes; `nil` for other objects.
    ///
    /// - Throws: `ContextError` if the object cannot be made.
    public func successor(of source: ManagedObject) throws(ContextError) -> ManagedObject? {
        guard let id = open.successor(of: source.storedID) else { return nil }
        return try destinationContext.object(with: id)
    }

    func destinations(of source: ObjectID, _ position: Int) -> [ManagedObject] {
        (made[position].bySource[source] ?? []).map { made[position].objects[$0].object }
    }

    /// The source of an object that was made; `nil` if it has none.
    func source(of destination: ManagedObject, _ position: Int) throws(ContextError) -> ManagedObject? {
        guard let id = sources[ObjectIdentifier(destination)], made[position].bySource[id] != nil else { return nil }
        return try sourceContext.object(with: id)
    }

    // MARK: The rules of a mapping

    /// Makes an object of the destination entity from `source`, sets its attributes by the rules of the mapping, and
    /// associates both.
    ///
    /// - Throws: the errors of computations; `ContextError` if the object cannot be made or refuses a value.
    @discardableResult
    public func createDestinationInstance(
        for source: ManagedObject, _ mapping: EntityMapping
    ) throws -> ManagedObject {
        let object = try destinationContext.insertNewObject(forEntityName: mapping.destinationEntityName)
        associate(source, with: object, mapping)
        guard let position = rules.positions[mapping.name] else { return object }
        for (attribute, rule, conversion) in rules.mappings[position].attributes {
            guard let value = try attributeValue(rule, source, self) else { continue }
            let subject = "\(mapping.destinationEntityName).\(attribute.name)"
            guard let migrated = value.isNull ? value : conversion.value(of: value) else {
                failures.add(subject, .inexact(attribute.type), source.storedID)
                continue
            }
            for path in conversion.requiredElements(isFilled: true) where migrated.lacksElement(at: path) {
                failures.add("\(subject).\(path.joined(separator: "."))", .noValue, source.storedID)
            }
            // Without a value, a required attribute keeps its default value.
            if migrated.isNull, !attribute.isOptional, !attribute.defaultValue.isNull { continue }
            try object.setValue(migrated, forKey: attribute.name)
        }
        try mapping.work?(source, object, self)
        return object
    }

    /// The value that a rule gives an attribute; `nil` if the rule is for relationships.
    private func attributeValue(
        _ rule: PropertyMapping, _ source: ManagedObject, _ session: MigrationSession
    ) throws -> AttributeValue? {
        switch rule.source {
        case .constant(let value): return value
        case .computed(_, let computation):
            guard case .attribute(let value) = try computation(source, session) else {
                throw ContextError.violations([
                    Violation(source, rule.name, .wrongType(found: "an object", expected: "a value"))
                ])
            }
            return value
        case .keyPath(let path):
            // Most paths are one name.
            guard path.utf8.contains(UInt8(ascii: ".")) else {
                guard case .attribute(let value) = try source.value(forKey: path) else { return .null }
                return value
            }
            var object: ManagedObject? = source
            let parts = path.split(separator: ".").map(String.init)
            for part in parts.dropLast() {
                guard case .toOne(let next)? = try object?.value(forKey: part) else { return .null }
                object = next
            }
            guard let object, let last = parts.last, case .attribute(let value) = try object.value(forKey: last) else {
                return .null
            }
            return value
        case .following, .made: return nil
        }
    }

    /// Sets the relationships of an object by the rules of the mapping that made it.
    ///
    /// - Throws: the errors of computations; `MappingError.severalDestinations`; `ContextError` if the object refuses a
    ///   value.
    public func createRelationships(for destination: ManagedObject, _ mapping: EntityMapping) throws {
        guard let position = rules.positions[mapping.name] else { return }
        let relationships = rules.mappings[position].relationships
        guard !relationships.isEmpty, let source = try source(of: destination, position) else { return }
        for (relationship, rule) in relationships {
            let found: [ManagedObject]
            switch rule.source {
            case .following(let path, let through):
                let targets = try targets(of: source, path)
                found = try successors(of: targets, relationship, through: through)
            case .made(let other): found = rules.positions[other].map { destinations(of: source.storedID, $0) } ?? []
            case .computed(_, let computation):
                try destination.setValue(try computation(source, self), forKey: relationship.name)
                continue
            case .keyPath, .constant: continue
            }
            try set(found, relationship, of: destination, mapping.name, source.storedID)
        }
    }

    /// The older objects to which a path of relationships leads, each once.
    private func targets(of source: ManagedObject, _ path: String) throws(ContextError) -> [ObjectID] {
        var objects = [source]
        var ids: [ObjectID] = []
        for (number, step) in path.split(separator: ".").enumerated() {
            if number > 0 {
                objects = []
                for id in ids { objects.append(try sourceContext.object(with: id)) }
            }
            ids = []
            var seen: Set<ObjectID> = []
            for object in objects {
                for id in try object.objectIDs(forRelationshipNamed: String(step)) where seen.insert(id).inserted {
                    ids.append(id)
                }
            }
        }
        return ids
    }

    func set(
        _ found: [ManagedObject], _ relationship: Relationship, of object: ManagedObject, _ mapping: String,
        _ source: ObjectID
    ) throws {
        guard !relationship.isToMany else {
            return try object.setValue(.toMany(found), forKey: relationship.name)
        }
        guard found.count < 2 else {
            throw MappingError.severalDestinations(mapping: mapping, property: relationship.name, source: source)
        }
        try object.setValue(.toOne(found.first), forKey: relationship.name)
    }

    /// The objects that older ones have become, as far as a relationship of the newer model can lead there.
    func successors(
        of ids: [ObjectID], _ relationship: Relationship, through name: String?
    ) throws(ContextError) -> [ManagedObject] {
        let entity = rules.newer.destination(of: relationship)
        var found: [ManagedObject] = []
        for id in ids {
            if let successor = open.successor(of: id) {
                let object = try destinationContext.object(with: successor)
                if object.entity.isKind(of: entity) { found.append(object) }
                continue
            }
            for (position, mapping) in rules.mappings.enumerated()
            where mapping.destination.isKind(of: entity) && (name == nil || mapping.mapping.name == name) {
                found += destinations(of: id, position)
            }
        }
        return found
    }
}
