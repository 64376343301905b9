// Finds all problems in a set of entity descriptions, in one pass.
//
// Invariants
//   1. A problem does not hide others: each check continues after a finding as long as it has valid input.
//   2. Problems are in the order of the descriptions; each names the place, the error and the remedy.
//   3. Descriptions without problems can be resolved without errors: names are unique and known, inheritance has no
//      cycle.
// Not here: attributes (ModelChecker+Attributes), relationships, constraints and indexes (ModelChecker+References).

struct ModelChecker {
    let descriptions: [EntityDescription]
    /// Whether the descriptions come from a store, where an older library may have written them: it did not compare the
    /// renaming identifiers of superentities and of elements.
    let isStored: Bool
    /// The index of the first entity with each name.
    let indexByName: [String: Int]
    private(set) var found: [ModelError.Problem] = []

    init(_ descriptions: [EntityDescription], isStored: Bool = false) {
        (self.descriptions, self.isStored) = (descriptions, isStored)
        indexByName = Dictionary(
            descriptions.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    func problems() -> [ModelError.Problem] {
        var checker = self
        for index in descriptions.indices { checker.checkEntity(at: index) }
        checker.checkRenamedEntities()
        return checker.found
    }

    /// Checks that each entity of an older version has at most one successor.
    private mutating func checkRenamedEntities() {
        var successors: [String: String] = [:]
        for entity in descriptions {
            guard let identifier = entity.renamingIdentifier, !identifier.isEmpty else { continue }
            if let other = successors[identifier] {
                report(
                    entity.name,
                    "entity '\(other)' has the renaming identifier '\(identifier)' too; only one entity can have it")
            }
            successors[identifier] = entity.name
        }
    }

    /// Reports a problem of the model as a whole.
    mutating func report(_ message: String) { found.append(ModelError.Problem(entity: nil, message)) }

    mutating func report(_ entity: String, _ message: String) { report(entity, nil, message) }

    mutating func report(_ entity: String, _ property: String?, _ message: String) {
        found.append(ModelError.Problem(entity: entity, property: property, message))
    }

    /// The description of the entity called `name`.
    func entity(named name: String) -> EntityDescription? { indexByName[name].map { descriptions[$0] } }

    /// The entity and its superentities, topmost last; stops at an unknown name or at a cycle.
    func ancestry(of entity: EntityDescription) -> [EntityDescription] {
        var line = [entity]
        var names: Set<String> = [entity.name]
        while let name = line[line.count - 1].superentity, names.insert(name).inserted,
            let above = self.entity(named: name)
        {
            line.append(above)
        }
        return line
    }

    /// The text `; did you mean 'x'?` if a similar name exists.
    ///
    /// After many problems it is empty, because the cost of a hint grows with the number of names.
    func hint(_ name: String, among names: [String]) -> String {
        guard found.count < Self.hintedProblemCountMax else { return "" }
        return NameSuggestion.nearest(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
    }

    private mutating func checkEntity(at index: Int) {
        let entity = descriptions[index]
        checkName(entity.name, of: "an entity", in: entity, property: nil)
        if let first = indexByName[entity.name], first != index {
            report(entity.name, "two entities have this name; rename one of them")
        }
        if entity.renamingIdentifier == "" {
            report(entity.name, "the renaming identifier is empty; give the old name, or nil")
        }
        checkModifier(entity.versionHashModifier, of: entity, property: nil)
        if entity.managedObjectClassName == "" {
            report(entity.name, "the name of the class is empty; give one, or nil")
        }
        checkSuperentity(of: entity)
        checkPropertyNames(of: entity)
        for attribute in entity.attributes {
            checkAttribute(attribute, of: entity)
            checkModifier(attribute.versionHashModifier, of: entity, property: attribute.name)
        }
        for relationship in entity.relationships {
            checkRelationship(relationship, of: entity)
            checkModifier(relationship.versionHashModifier, of: entity, property: relationship.name)
        }
        for property in entity.fetchedProperties { checkFetchedProperty(property, of: entity) }
        checkConstraints(of: entity)
        checkIndexes(of: entity)
    }

    private mutating func checkModifier(_ modifier: String?, of entity: EntityDescription, property: String?) {
        if modifier == "" { report(entity.name, property, "the version hash modifier is empty; give a text, or nil") }
    }

    /// Checks that a name begins with a letter or `_` and continues with letters, digits and `_`, so that key paths can
    /// contain it.
    mutating func checkName(_ name: String, of what: String, in entity: EntityDescription, property: String?) {
        let scalars = name.unicodeScalars
        guard let first = scalars.first else {
            return report(entity.name, property, "the name of \(what) is empty; give it one")
        }
        if !first.beginsName || !scalars.allSatisfy(\.continuesName) {
            report(
                entity.name, property,
                "'\(name)' is not a name for \(what): a name must begin with a letter or _ "
                    + "and continue with letters, digits or _"
            )
        }
        if name.utf8.count > ModelChecker.nameByteCountMax {
            report(
                entity.name, property,
                "the name of \(what) has \(name.utf8.count) bytes; "
                    + "at most \(ModelChecker.nameByteCountMax) are allowed"
            )
        }
    }

    /// The number of problems that get hints.
    private static let hintedProblemCountMax = 100

    /// The longest name, in UTF-8 bytes: a store keeps names in keys, which are limited.
    static let nameByteCountMax = 200

    private mutating func checkSuperentity(of entity: EntityDescription) {
        guard let name = entity.superentity else { return }
        guard self.entity(named: name) != nil else {
            let hint = hint(name, among: descriptions.map(\.name))
            let remedy = hint.isEmpty ? "; add that entity, or name another one or none" : hint
            return report(entity.name, "superentity '\(name)' does not exist\(remedy)")
        }
        let line = ancestry(of: entity)
        if line.last?.superentity == entity.name {
            let cycle = (line.map(\.name) + [entity.name]).joined(separator: " → ")
            report(entity.name, "inherits from itself: \(cycle); give one of them another superentity, or none")
        }
    }

    private mutating func checkPropertyNames(of entity: EntityDescription) {
        var owners: [String: String] = [:]
        /// The entities of the properties that continue older ones, by the names of these.
        var heirs: [String: String] = [:]
        for ancestor in ancestry(of: entity).dropFirst().reversed() {
            for name in ancestor.propertyNames { owners[name] = ancestor.name }
            guard !isStored else { continue }
            for identifier in ancestor.propertyIdentifiers { heirs[identifier] = ancestor.name }
        }
        let properties =
            entity.attributes.map { ("an attribute", $0.name, $0.renamingIdentifier) }
            + entity.relationships.map { ("a relationship", $0.name, $0.renamingIdentifier) }
            + entity.fetchedProperties.map { ("a fetched property", $0.name, nil) }
        for (what, name, identifier) in properties {
            checkName(name, of: what, in: entity, property: name.isEmpty ? nil : name)
            if name.uppercased() == "SELF" {
                report(entity.name, name, "this name stands for the object itself in predicates; choose another")
            }
            if let owner = owners[name], !name.isEmpty {
                let place = owner == entity.name ? "this entity" : "superentity '\(owner)'"
                report(entity.name, name, "\(place) already has a property with this name; rename one of them")
            }
            owners[name] = entity.name
            if identifier == "" {
                report(entity.name, name, "the renaming identifier is empty; give the old name, or nil")
            }
            guard let identifier, !identifier.isEmpty else { continue }
            if let owner = heirs[identifier] {
                let other = owner == entity.name ? "another property" : "a property of superentity '\(owner)'"
                report(
                    entity.name, name,
                    "\(other) has the renaming identifier '\(identifier)' too; only one property can have it")
            }
            heirs[identifier] = entity.name
        }
    }
}

extension EntityDescription {
    /// The names of its own properties.
    fileprivate var propertyNames: [String] {
        attributes.map(\.name) + relationships.map(\.name) + fetchedProperties.map(\.name)
    }

    /// The renaming identifiers of its own properties.
    fileprivate var propertyIdentifiers: [String] {
        attributes.compactMap(\.renamingIdentifier) + relationships.compactMap(\.renamingIdentifier)
    }
}
