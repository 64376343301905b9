// The two sides of a migration by mappings while it runs, and the rules of the mappings.
//
// Invariants
//   1. The source context shows the store as it was; it cannot be saved.
//   2. The destination context is saved once, after the last hook; its store commits nothing before all checks.
// Not here: the objects that come from one another (Associations).

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

    let rules: MappingRules
    let open: MappedMigration
    let migration: MigrationOptions
    /// The objects that come from one another.
    private(set) var associations: Associations
    var failures = MappingFailures()
    /// The ordered lists of older owners that lose the order of several destinations, which come back from their side.
    private(set) var lostOrders: [MigrationLoss] = []

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
        associations = Associations(mappingCount: rules.mappings.count)
    }

    // MARK: Objects that come from one another

    /// Notes that a mapping has made `destination` from `source`, or that `source` joins what a mapping has made.
    ///
    /// `createDestinationInstance` does so itself. Several sources can become one object: associate it with each of
    /// them. What led to any of them then leads to the object, and the rules for its relationships follow all of them.
    ///
    /// - Parameter source: `nil` for an object without a source.
    public func associate(_ source: ManagedObject?, with destination: ManagedObject, _ mapping: EntityMapping) {
        guard let position = rules.positions[mapping.name] else { return }
        associations.add(source?.storedID, destination, position)
    }

    /// The objects that a mapping has made from `sources`, in their order.
    ///
    /// - Returns: none for a name that is not a mapping's.
    public func destinationInstances(
        forEntityMappingNamed name: String, sources: [ManagedObject]
    ) -> [ManagedObject] {
        guard let position = rules.positions[name] else { return [] }
        return sources.flatMap { associations.objects(from: $0.storedID, position) }
    }

    /// The objects from which a mapping has made `destinations`, in their order; for an object of several sources, all
    /// of these.
    ///
    /// - Throws: `ContextError` if an object cannot be read.
    public func sourceInstances(
        forEntityMappingNamed name: String, destinations: [ManagedObject]
    ) throws(ContextError) -> [ManagedObject] {
        guard let position = rules.positions[name] else { return [] }
        var found: [ManagedObject] = []
        for destination in destinations {
            for id in associations.sources(of: destination, position) {
                found.append(try sourceContext.object(with: id))
            }
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
            var reached = PropertyValue.toOne(source)
            for step in path.split(separator: ".") {
                switch reached {
                case .toOne(let object?): reached = try object.value(forKey: String(step))
                case .attribute(.composite(let elements)): reached = .attribute(elements[String(step)] ?? .null)
                case .attribute, .toOne, .toMany: return .null
                }
            }
            guard case .attribute(let value) = reached else { return .null }
            return value
        case .following, .made: return nil
        }
    }

    /// Sets the relationships of an object by the rules of the mapping that made it.
    ///
    /// An object of several sources leads to what the rules find from all of them, also by the rules of other mappings
    /// that have joined it. A computation gets the first source of the mapping.
    ///
    /// - Throws: the errors of computations; `MappingError.severalDestinations`; `ContextError` if the object refuses a
    ///   value.
    public func createRelationships(for destination: ManagedObject, _ mapping: EntityMapping) throws {
        guard let position = rules.positions[mapping.name] else { return }
        let relationships = rules.mappings[position].relationships
        guard !relationships.isEmpty, let first = associations.sources(of: destination, position).first else { return }
        for (relationship, rule) in relationships {
            switch rule.source {
            case .following, .made:
                let found = try successors(of: destination, relationship, rule, position)
                try set(found, relationship, of: destination, mapping.name, first)
            case .computed(_, let computation):
                let source = try sourceContext.object(with: first)
                try destination.setValue(try computation(source, self), forKey: relationship.name)
            case .keyPath, .constant: continue
            }
        }
    }

    /// The objects to which a relationship of an object leads by the rules of all its mappings, from all its sources.
    ///
    /// - Parameter rule: that of the mapping at `position`.
    private func successors(
        of destination: ManagedObject, _ relationship: Relationship, _ rule: PropertyMapping, _ position: Int
    ) throws -> [ManagedObject] {
        var found = DistinctObjects()
        for other in associations.mappings(of: destination) {
            let named = other == position ? rule : rules.mappings[other].rule(of: relationship)
            guard let named else { continue }
            for id in associations.sources(of: destination, other) {
                switch named.source {
                case .following(let path, let through):
                    let targets = try targets(of: try sourceContext.object(with: id), path)
                    for object in try successors(of: targets, relationship, through: through) { found.append(object) }
                    if named.isContinuation, other == position,
                        let older = rules.mappings[other].source?.relationship(named: path)
                    {
                        noteUnreached(targets, older, relationship, id)
                    }
                case .made(let name):
                    guard let maker = rules.positions[name] else { continue }
                    for object in associations.objects(from: id, maker) { found.append(object) }
                case .computed, .keyPath, .constant: continue
                }
            }
        }
        return found.objects
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

    /// Notes an owner that would lose a destination, because a relationship of the newer model cannot lead to anything
    /// that the destination has become, and nothing that it has become leads back; or the order of several that do.
    func noteUnreached(_ ids: [ObjectID], _ older: Relationship, _ relationship: Relationship, _ owner: ObjectID) {
        let unreached = ids.filter { !isReached($0, relationship) }
        guard unreached.allSatisfy({ leadsBack($0, older, to: owner) }) else {
            let subject = "\(rules.newer.entities[relationship.declaredBy].name).\(relationship.name)"
            return failures.add(subject, .otherDestination, owner)
        }
        guard older.isOrdered, unreached.count > 1 else { return }
        let loss = MigrationLoss.order(of: "\(rules.former.entities[older.declaredBy].name).\(older.name)")
        if !lostOrders.contains(loss) { lostOrders.append(loss) }
    }

    /// Whether a relationship of the newer model can lead to what an older object has become, if that is anything.
    private func isReached(_ id: ObjectID, _ relationship: Relationship) -> Bool {
        let entity = rules.newer.destination(of: relationship)
        if let successor = open.successor(of: id) {
            return rules.newer.entity(named: successor.entityName)?.isKind(of: entity) ?? true
        }
        guard associations.isTaken(id) else { return true }
        return rules.mappings.enumerated().contains { position, mapping in
            mapping.destination.isKind(of: entity) && !associations.objects(from: id, position).isEmpty
        }
    }

    /// Whether an object that an older one has become follows the inverse of a relationship that led to the older one,
    /// and reaches what the owner has become: if an entity is split, the owner gets another list of such objects.
    private func leadsBack(_ id: ObjectID, _ older: Relationship, to owner: ObjectID) -> Bool {
        guard let inverse = rules.former.inverse(of: older) else { return false }
        return rules.mappings.enumerated().contains { position, mapping in
            guard !associations.objects(from: id, position).isEmpty else { return false }
            return mapping.relationships.contains { relationship, rule in
                guard case .following(inverse.name, through: nil) = rule.source else { return false }
                return isReached(owner, relationship)
            }
        }
    }

    /// The objects that older ones have become, each once, as far as a relationship of the newer model can lead there.
    func successors(
        of ids: [ObjectID], _ relationship: Relationship, through name: String?
    ) throws(ContextError) -> [ManagedObject] {
        let entity = rules.newer.destination(of: relationship)
        var found = DistinctObjects()
        for id in ids {
            if let successor = open.successor(of: id) {
                let object = try destinationContext.object(with: successor)
                if object.entity.isKind(of: entity) { found.append(object) }
                continue
            }
            for (position, mapping) in rules.mappings.enumerated()
            where mapping.destination.isKind(of: entity) && (name == nil || mapping.mapping.name == name) {
                for object in associations.objects(from: id, position) { found.append(object) }
            }
        }
        return found.objects
    }
}
