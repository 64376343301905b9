// The three passes over all mappings, and what follows them: relationships that lead to mapped objects, objects that no
// mapping took, values that the mappings of their objects do not read, and the save.

import EspalierModel
import EspalierStore

extension MigrationSession {
    /// The part of the progress that is done after the passes; the rest is for what follows them.
    private static let passesEnd = 0.95

    /// Carries out all mappings and saves the objects, without a commit.
    ///
    /// - Returns: the numbers of the mappings, and the reasons against the migration.
    func run() throws(MappingError) -> (numbers: [MigrationPlan.Mapping], refusal: MigrationRefusal) {
        let sourceCounts = try createInstances()
        try createRelationships()
        for (position, resolved) in rules.mappings.enumerated() {
            let mapping = resolved.mapping
            try during("performCustomValidation", position) {
                try mapping.policy.performCustomValidation(mapping, self)
            }
            try during("end", position) { try mapping.policy.end(mapping, self) }
        }
        let unread = try unreadValues()
        let orders = lostOrders.filter { !migration.allowing.contains($0) && !unread.contains($0) }
        let losses = try unmappedObjects() + unread + orders
        let refusal = MigrationRefusal(losses: losses, failures: failures.all)
        if refusal.isEmpty, destinationContext.hasChanges {
            do throws(ContextError) { try destinationContext.save() } catch {
                throw .failed(mapping: "all mappings", step: "save", source: nil, underlying: error)
            }
        }
        let numbers = zip(rules.mappings, sourceCounts).enumerated().map { position, pair in
            MigrationPlan.Mapping(
                name: pair.0.mapping.name, sourceCount: pair.1, createdCount: associations.madeCount(position))
        }
        return (numbers, refusal)
    }

    // MARK: Passes

    private func createInstances() throws(MappingError) -> [Int] {
        var counts: [Int] = []
        for (position, resolved) in rules.mappings.enumerated() {
            let mapping = resolved.mapping
            try during("begin", position) { try mapping.policy.begin(mapping, self) }
            var count = 0
            try during("createDestinationInstances", position) {
                guard let source = resolved.source else { return }
                var request = FetchRequest<ManagedObject>(entityName: source.name, predicate: mapping.predicate)
                request.includesSubentities = false
                let total = try sourceContext.count(for: request)
                try sourceContext.enumerate(request) { object in
                    try note(position, Double(count) / Double(max(total, 1)), ofPass: 0)
                    count += 1
                    do { try mapping.policy.createDestinationInstances(for: object, mapping, self) } catch {
                        throw Self.failure(error, mapping.name, "createDestinationInstances", object.storedID)
                    }
                }
            }
            counts.append(count)
            try during("endInstanceCreation", position) { try mapping.policy.endInstanceCreation(mapping, self) }
        }
        return counts
    }

    private func createRelationships() throws(MappingError) {
        for (position, resolved) in rules.mappings.enumerated() {
            let mapping = resolved.mapping
            let objects = associations.objects(position)
            try during("createRelationships", position) {
                for (number, (object, source)) in objects.enumerated() {
                    try note(position, Double(number) / Double(max(objects.count, 1)), ofPass: 1)
                    do { try mapping.policy.createRelationships(for: object, mapping, self) } catch {
                        throw Self.failure(error, mapping.name, "createRelationships", source)
                    }
                }
            }
            if position == rules.mappings.count - 1 {
                try during("relationships of entities without mappings", position) { try followMappedObjects() }
            }
            try during("endRelationshipCreation", position) {
                try mapping.policy.endRelationshipCreation(mapping, self)
            }
        }
    }

    /// Notes the progress, now and then.
    private func note(_ position: Int, _ fraction: Double, ofPass pass: Int) throws(StoreError) {
        guard let progress else { return }
        let share = (Double(position) + fraction) / Double(max(rules.mappings.count, 1))
        let rest = Self.passesEnd - MappedMigration.inferredShare
        try progress.advance(to: MappedMigration.inferredShare + rest * (Double(pass) + share) / 2)
    }

    /// Runs a step; its errors name the mapping and the step.
    private func during(_ step: String, _ position: Int, _ body: () throws -> Void) throws(MappingError) {
        do { try body() } catch { throw Self.failure(error, rules.mappings[position].mapping.name, step, nil) }
    }

    private static func failure(
        _ error: any Error, _ mapping: String, _ step: String, _ source: ObjectID?
    ) -> MappingError {
        switch error {
        case let error as MappingError: error
        case StoreError.migrationCancelled(let path): .store(.migrationCancelled(path: path))
        default: .failed(mapping: mapping, step: step, source: source, underlying: error)
        }
    }

    // MARK: Entities without mappings

    /// Makes relationships of entities without mappings lead to what mapped objects have become.
    private func followMappedObjects() throws {
        let sources = Set(rules.mappings.compactMap { $0.source?.index })
        for owner in rules.newer.entities {
            guard let former = open.match.oldEntities[owner.index], !rules.former.entities[former].isAbstract else {
                continue
            }
            for relationship in owner.relationships {
                guard let slot = open.match.relationships[owner.index][relationship.slot] else { continue }
                let older = rules.former.entities[former].relationships[slot]
                let reach = rules.former.destination(of: older).family
                guard reach.contains(where: sources.contains), !isSetByInverse(relationship) else { continue }
                try follow(older, as: relationship, of: rules.former.entities[former].name)
            }
        }
    }

    /// Whether the rules of mappings set all pairs of a relationship from its other side.
    private func isSetByInverse(_ relationship: Relationship) -> Bool {
        guard !relationship.isOrdered, let inverse = rules.newer.inverse(of: relationship) else { return false }
        let entity = rules.newer.destination(of: relationship)
        let makers = rules.mappings.filter { $0.destination.isKind(of: entity) }
        return makers.allSatisfy { maker in
            maker.relationships.contains { $0.relationship.name == inverse.name }
        }
    }

    private func follow(_ older: Relationship, as relationship: Relationship, of entity: String) throws {
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.includesSubentities = false
        try sourceContext.enumerate(request) { owner in
            let targets = try owner.objectIDs(forRelationshipNamed: older.name)
            guard targets.contains(where: { open.successor(of: $0) == nil }),
                let successor = try successor(of: owner)
            else { return }
            // The inferred migration tells the others.
            noteUnreached(targets.filter { open.successor(of: $0) == nil }, older, relationship, owner.storedID)
            let found = try successors(of: targets, relationship, through: nil)
            if !found.isEmpty { try set(found, relationship, of: successor, entity, owner.storedID) }
        }
    }

    // MARK: Objects without a mapping

    /// Notes the objects of mapped entities that no mapping took, unless that loss is allowed by the entity's name.
    private func unmappedObjects() throws(MappingError) -> [MigrationLoss] {
        var losses: [MigrationLoss] = []
        var seen: Set<String> = []
        for case let source? in rules.mappings.map(\.source) where seen.insert(source.name).inserted {
            let loss = MigrationLoss.removal(of: source.name)
            guard !migration.allowing.contains(loss) else { continue }
            var request = FetchRequest<ManagedObject>(entityName: source.name)
            request.includesSubentities = false
            let ids: [ObjectID]
            do throws(ContextError) { ids = try sourceContext.fetchIDs(request) } catch {
                throw .failed(mapping: source.name, step: "count", source: nil, underlying: error)
            }
            let left = ids.filter { !associations.isTaken($0) }
            guard !left.isEmpty else { continue }
            losses.append(loss)
            for id in left { failures.add(source.name, .unmapped, id) }
        }
        return losses
    }

    // MARK: Values and orders that other mappings keep

    /// Notes the values and the orders that other mappings keep than those which took the object, unless that loss is
    /// allowed by the name of the property or of its element.
    private func unreadValues() throws(MappingError) -> [MigrationLoss] {
        var losses: [MigrationLoss] = []
        var seen: Set<String> = []
        for case let source? in rules.mappings.map(\.source) where seen.insert(source.name).inserted {
            let partial = rules.partialLosses(of: source).filter { !migration.allowing.contains($0.loss) }
            guard !partial.isEmpty else { continue }
            var request = FetchRequest<ManagedObject>(entityName: source.name)
            request.includesSubentities = false
            do {
                try sourceContext.enumerate(request) { object in
                    try progress?.advance(to: Self.passesEnd)
                    let takers = associations.takers(of: object.storedID)
                    // An object that nothing took is lost as a whole.
                    guard !takers.isEmpty else { return }
                    for part in partial
                    where part.keepers.isDisjoint(with: takers) && !part.losers.isDisjoint(with: takers) {
                        let names = takers.map { rules.mappings[$0].mapping.name }
                        guard let reason = try Self.reason(part, object, names) else { continue }
                        failures.add(part.loss.name, reason, object.storedID)
                        if !losses.contains(part.loss) { losses.append(part.loss) }
                    }
                }
            } catch {
                throw Self.failure(error, source.name, "values that are not read", nil)
            }
        }
        return losses
    }

    /// The reason against a migration in which an object suffers a loss; `nil` if it has nothing to lose.
    private static func reason(
        _ part: MappingRules.PartialLoss, _ object: ManagedObject, _ mappings: [String]
    ) throws -> MigrationFailure.Reason? {
        switch part.loss {
        case .removal: try hasValue(object, at: part.path) ? .unread(by: mappings) : nil
        case .order: try object.objectIDs(forRelationshipNamed: part.path[0]).count > 1 ? .unordered(by: mappings) : nil
        }
    }

    /// Whether an object has a value of a property, or of an element to which the path leads from there.
    private static func hasValue(_ object: ManagedObject, at path: [String]) throws -> Bool {
        let name = path[0]
        guard object.entity.relationship(named: name) == nil else {
            return try !object.objectIDs(forRelationshipNamed: name).isEmpty
        }
        guard case .attribute(var value) = try object.value(forKey: name) else { return false }
        for element in path.dropFirst() {
            guard case .composite(let elements) = value else { return false }
            value = elements[element] ?? .null
        }
        return !value.isNull
    }
}

/// The rows against a migration by mappings: the first of each kind.
struct MappingFailures {
    private static let objectCountMax = 100

    private struct Finding {
        let subject: String
        let reason: MigrationFailure.Reason
        /// All rows; `objects` has the first of them.
        var rows: Set<ObjectID> = []
        var objects: [ObjectID] = []
    }

    private var found: [Finding] = []

    mutating func add(_ subject: String, _ reason: MigrationFailure.Reason, _ object: ObjectID) {
        let known = found.firstIndex { $0.subject == subject && $0.reason == reason }
        let index = known ?? found.endIndex
        if known == nil { found.append(Finding(subject: subject, reason: reason)) }
        // A row that makes several objects is one, also if several mappings make them.
        guard found[index].rows.insert(object).inserted else { return }
        if found[index].objects.count < Self.objectCountMax { found[index].objects.append(object) }
    }

    var all: [MigrationFailure] {
        found.map {
            MigrationFailure(subject: $0.subject, reason: $0.reason, rowCount: $0.rows.count, objects: $0.objects)
        }
    }
}
