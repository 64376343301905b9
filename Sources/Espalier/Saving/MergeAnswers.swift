// The questions to merge policies of the application's own, and their answers (MP-06).
//
// Invariants
//   1. A policy is asked before anything is resolved; its choices become values at once, because they may name the
//      values of either side, and are set after all objects have followed their rules.
//   2. An answer that cannot be followed fails the save, with all others of the same attempt.
// Not here: the rules (+Conflicts, ManagedObject+Rebase).

import EspalierModel
import EspalierStore

/// The rules that objects follow in one attempt to resolve conflicts, and the values that their policies have chosen.
struct MergeAnswers {
    /// A chosen value, before the destinations become objects.
    enum Chosen {
        case value(AttributeValue)
        case destinations([ObjectID])
    }

    /// The rules by which policies of the application's own answered.
    var rules: [ObjectID: MergePolicy.Rule] = [:]
    var values: [(object: ManagedObject, property: String, chosen: Chosen)] = []
    /// The answers that cannot be followed.
    var refused: [Violation] = []
}

extension ManagedObjectContext {
    // MARK: Policies

    /// Sets the merge policy for an entity and its subentities, instead of `mergePolicy`; `nil` removes it (MP-06).
    ///
    /// An object follows the policy of its own entity, else that of the nearest superentity that has one.
    ///
    /// - Throws: `ContextError.unknownEntity`.
    public func setMergePolicy(_ policy: MergePolicy?, forEntityNamed name: String) throws(ContextError) {
        guard let entity = model.entity(named: name) else {
            throw .unknownEntity(name, known: model.entities.map(\.name))
        }
        entityPolicies[entity.index] = policy
    }

    /// Sets the merge policy for the objects of a class, instead of `mergePolicy`; `nil` removes it (MP-06).
    ///
    /// - Throws: `ContextError.unknownEntity`.
    public func setMergePolicy<Object: ManagedObject>(
        _ policy: MergePolicy?, for objects: Object.Type
    ) throws(ContextError) {
        try setMergePolicy(policy, forEntityNamed: Object.entityName)
    }

    /// The merge policy that objects of an entity follow; `mergePolicy` if the model has no such entity.
    ///
    /// - Complexity: O(superentities).
    public func mergePolicy(forEntityNamed name: String) -> MergePolicy { policy(of: model.entity(named: name)) }

    /// The policy that objects of an entity follow.
    func policy(of entity: Entity?) -> MergePolicy {
        if entityPolicies.isEmpty { return mergePolicy }
        var next = entity
        while let entity = next {
            if let policy = entityPolicies[entity.index] { return policy }
            next = entity.superentity.map { model.entities[$0] }
        }
        return mergePolicy
    }

    /// The rule that an object follows; one that its policy was not asked about keeps its changes.
    func rule(for object: ManagedObject, _ answers: MergeAnswers) -> MergePolicy.Rule {
        if let rule = answers.rules[object.storedID] { return rule }
        return policy(of: model.entity(named: object.entity.name)).rule ?? .objectTrump
    }

    // MARK: Questions

    /// Asks the policies of the application's own about the objects in conflict that follow one.
    ///
    /// - Parameter lists: the lists from which changes of unordered relationships started, by object and slot.
    /// - Throws: `ContextError.refusedResolutions` if a policy throws an error.
    func ask(
        _ conflicts: [VersionConflict], _ lists: [ObjectID: [Int: [ObjectID]]], _ answers: inout MergeAnswers
    ) throws(ContextError) {
        for conflict in conflicts {
            guard let object = memory.registry[conflict.id], let resolver = resolver(for: object) else { continue }
            if conflict.stored != nil { cache.invalidate(conflict.id) }
            let destinations = changedDestinations(of: object, conflict, lists[conflict.id] ?? [:])
            let question = described(conflict, destinations)
            let resolution = try answer(of: resolver, question, object)
            guard resolution.rule != .error else { throw .conflicts(report(conflicts)) }
            answers.rules[object.storedID] = resolution.rule
            for (property, choice) in resolution.choices.sorted(by: { $0.key < $1.key }) {
                choose(property, choice, of: object, conflict.stored, destinations, &answers)
            }
        }
    }

    /// Asks the policies of the application's own about relationships to deleted rows.
    func ask(_ conflicts: [ReferenceConflict], _ answers: inout MergeAnswers) throws(ContextError) {
        for conflict in conflicts where conflict.kind == .missing {
            guard let object = memory.registry[conflict.owner], let resolver = resolver(for: object),
                let relationship = object.entity.relationship(named: conflict.relationship)
            else { continue }
            let slot = relationship.slot
            let property: MergeConflict.Property
            if relationship.isToMany {
                let stored = object.storedDestinationIDs(at: slot)
                property = .init(
                    name: relationship.name,
                    .init(base: stored, mine: object.destinationIDs(at: slot), stored: stored))
            } else {
                func value(_ id: ObjectID?) -> AttributeValue { id.map { .objectID($0) } ?? .null }
                property = .init(
                    name: relationship.name, base: value(object.base(ofDestination: slot)),
                    mine: value(object.destinationID(at: slot)), stored: value(object.row?.destination(at: slot)))
            }
            let version = object.row?.version ?? 0
            let question = MergeConflict(
                object: conflict.owner, isDeletedHere: object.isDeleted, oldVersion: version, newVersion: version,
                properties: [property], missingDestinations: conflict.destinations)
            let resolution = try answer(of: resolver, question, object)
            guard resolution.rule != .error else { throw .references(conflicts) }
            answers.rules[object.storedID] = resolution.rule
            for (name, choice) in resolution.choices.sorted(by: { $0.key < $1.key }) {
                let lists = property.destinations.map { [(slot: slot, destinations: $0)] } ?? []
                choose(name, choice, of: object, object.row, lists, &answers)
            }
        }
    }

    private func resolver(for object: ManagedObject) -> (any MergeResolver)? {
        policy(of: model.entity(named: object.entity.name)).resolver
    }

    private func answer(
        of resolver: any MergeResolver, _ conflict: MergeConflict, _ object: ManagedObject
    ) throws(ContextError) -> MergeResolution {
        stage = SaveStage(.mergePolicy, object)
        defer { stage = SaveStage(.storing) }
        do {
            return try resolver.resolve(conflict, of: object)
        } catch {
            throw .refusedResolutions([Violation(object, message: "\(error)", underlying: error)])
        }
    }

    /// The lists from which changes of unordered relationships started, for objects whose policies are asked; to be
    /// called before the context moves to another generation.
    func listsToAskAbout(_ conflicts: [VersionConflict]) -> [ObjectID: [Int: [ObjectID]]] {
        var lists: [ObjectID: [Int: [ObjectID]]] = [:]
        for conflict in conflicts {
            guard let object = memory.registry[conflict.id], resolver(for: object) != nil else { continue }
            for (slot, change) in object.changes?.values.toMany.pairs ?? [] where !change.isWhole {
                lists[conflict.id, default: [:]][slot] = object.storedDestinationIDs(at: slot)
            }
        }
        return lists
    }

    /// The to-many relationships that an object has changed, with the destinations on both sides.
    private func changedDestinations(
        of object: ManagedObject, _ conflict: VersionConflict, _ lists: [Int: [ObjectID]]
    ) -> [(slot: Int, destinations: MergeConflict.Destinations)] {
        guard conflict.stored != nil, let values = object.changes?.values else { return [] }
        return values.toMany.pairs.map { slot, change in
            let stored = object.storedDestinationIDs(at: slot)
            let base = change.isWhole ? values.bases?.lists[slot] ?? change.base : lists[slot] ?? stored
            return (slot, .init(base: base, mine: change.applied(to: base), stored: stored))
        }
    }

    // MARK: Answers

    /// Adds the value that a choice stands for.
    private func choose(
        _ name: String, _ choice: MergeResolution.Choice, of object: ManagedObject, _ stored: ObjectSnapshot?,
        _ lists: [(slot: Int, destinations: MergeConflict.Destinations)], _ answers: inout MergeAnswers
    ) {
        func refuse(_ reason: Violation.Reason) { answers.refused.append(Violation(object, name, reason)) }
        func choose(_ chosen: MergeAnswers.Chosen) { answers.values.append((object, name, chosen)) }
        guard let property = object.entity.property(named: name) else {
            return refuse(.unknownKey(known: object.entity.propertyNames))
        }
        func value(_ id: ObjectID?) -> MergeAnswers.Chosen { .value(id.map { .objectID($0) } ?? .null) }
        switch (choice, property) {
        case (.value(let value), _): choose(.value(value))
        case (.destinations(let ids), _): choose(.destinations(ids))
        case (.mine, .attribute(let slot)): choose(.value(object.attributeValue(at: slot)))
        case (.mine, .relationship(let slot)) where !object.entity.relationships[slot].isToMany:
            choose(value(object.destinationID(at: slot)))
        case (.mine, .relationship(let slot)):
            let known = lists.first { $0.slot == slot }?.destinations.mine
            choose(.destinations(known ?? object.destinationIDs(at: slot)))
        case (.stored, .attribute(let slot)) where object.entity.attributes[slot].isTransient:
            answers.refused.append(
                Violation(
                    object, property: name, message: "it is transient, so the store has no value of it",
                    remedy: "choose the context's value, or set one"))
        case (.stored, .attribute(let slot)):
            guard let stored else { return refuse(.rowIsGone) }
            choose(.value(stored.value(at: slot)))
        case (.stored, .relationship(let slot)) where !object.entity.relationships[slot].isToMany:
            guard let stored else { return refuse(.rowIsGone) }
            choose(value(stored.destination(at: slot)))
        case (.stored, .relationship(let slot)):
            guard stored != nil else { return refuse(.rowIsGone) }
            let known = lists.first { $0.slot == slot }?.destinations.stored
            choose(.destinations(known ?? object.storedDestinationIDs(at: slot)))
        }
    }

    /// Sets the chosen values, after the objects have followed their rules.
    ///
    /// - Throws: `ContextError.refusedResolutions` with all answers that cannot be followed.
    func carryOut(_ answers: MergeAnswers) throws(ContextError) {
        var refused = answers.refused
        for (object, name, chosen) in answers.values {
            do {
                try object.setValue(try propertyValue(chosen, name, of: object), forKey: name)
            } catch {
                if case .violations(let found) = error {
                    refused += found
                } else {
                    refused.append(Violation(object, property: name, message: "\(error)", underlying: error))
                }
            }
        }
        guard refused.isEmpty else { throw .refusedResolutions(refused) }
    }

    private func propertyValue(
        _ chosen: MergeAnswers.Chosen, _ name: String, of object: ManagedObject
    ) throws(ContextError) -> PropertyValue {
        guard case .relationship? = object.entity.property(named: name) else {
            guard case .value(let value) = chosen else { return .toMany([]) }
            return .attribute(value)
        }
        switch chosen {
        case .value(.null): return .toOne(nil)
        case .value(.objectID(let id)): return .toOne(try existingObject(with: id))
        case .value(let value): return .attribute(value)
        case .destinations(let ids):
            return .toMany(try ids.map { id throws(ContextError) in try existingObject(with: id) })
        }
    }
}
