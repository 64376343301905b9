// Compares the parts of two models that only applications use and no store keeps: rules, actions, requests, class
// names, modifiers of hashes, texts, configurations, names and messages by language, and the identifiers of the
// version.
//
// Invariants
//   1. Each of these changes costs constant time and loses nothing.
//   2. The order of declarations is no difference, and neither is a new name of an entity or a property that another
//      change reports, as long as it does not stand in the text of a condition.

extension DifferenceBuilder {
    /// Compares these parts of an entity with those of the older entity; a new entity includes its parts.
    mutating func compareUnstored(_ entity: Entity) {
        guard let older = match.oldEntities[entity.index].map({ old.entities[$0] }) else { return }
        let (value, former) = (entity.description, older.description)
        func add(_ property: String?, _ kind: ModelChange.Kind) {
            changes.append(ModelChange(entity.name, property, kind))
        }
        if former.managedObjectClassName != value.managedObjectClassName {
            add(nil, .classNameChanged(from: former.managedObjectClassName, to: value.managedObjectClassName))
        }
        if former.versionHashModifier != value.versionHashModifier {
            add(nil, .hashModifierChanged(from: former.versionHashModifier, to: value.versionHashModifier))
        }
        if former.userInfo != value.userInfo { add(nil, .userInfoChanged(from: former.userInfo, to: value.userInfo)) }
        let actions = Dictionary(
            zip(former.uniquenessConstraints, renamedConstraints(older)).map { ($1, former.constraintActions[$0]) },
            uniquingKeysWith: { first, _ in first })
        for constraint in value.uniquenessConstraints {
            guard let action = actions[constraint], action != value.constraintActions[constraint] else { continue }
            add(nil, .constraintActionChanged(constraint, from: action, to: value.constraintActions[constraint]))
        }
        for attribute in entity.attributes where attribute.declaredBy == entity.index {
            guard let slot = match.attributes[entity.index][attribute.slot] else { continue }
            compareUnstored(attribute.description, older.attributes[slot].description, attribute.name, add)
        }
        for relationship in entity.relationships where relationship.declaredBy == entity.index {
            guard let slot = match.relationships[entity.index][relationship.slot] else { continue }
            let (value, former) = (relationship.description, older.relationships[slot].description)
            if former.versionHashModifier != value.versionHashModifier {
                add(value.name, .hashModifierChanged(from: former.versionHashModifier, to: value.versionHashModifier))
            }
            if former.userInfo != value.userInfo {
                add(value.name, .userInfoChanged(from: former.userInfo, to: value.userInfo))
            }
        }
        compareFetchedProperties(value, former, add)
    }

    /// Compares an attribute, and the elements of a composite with those that they continue.
    ///
    /// - Parameter path: the name of the attribute, and for an element the names of those that contain it before its
    ///   own, with dots between them.
    private func compareUnstored(
        _ value: AttributeDescription, _ former: AttributeDescription, _ path: String,
        _ add: (String?, ModelChange.Kind) -> Void
    ) {
        if Set(former.validationRules) != Set(value.validationRules) {
            add(path, .rulesChanged(from: former.validationRules, to: value.validationRules))
        }
        if former.allowsExternalBinaryDataStorage != value.allowsExternalBinaryDataStorage {
            add(path, .externalStorageChanged(isAllowed: value.allowsExternalBinaryDataStorage))
        }
        if former.versionHashModifier != value.versionHashModifier {
            add(path, .hashModifierChanged(from: former.versionHashModifier, to: value.versionHashModifier))
        }
        if former.userInfo != value.userInfo {
            add(path, .userInfoChanged(from: former.userInfo, to: value.userInfo))
        }
        for element in AttributeConversion(from: former, to: value).elements {
            guard let older = element.former else { continue }
            compareUnstored(element.description, older, "\(path).\(element.description.name)", add)
        }
    }

    private func compareFetchedProperties(
        _ value: EntityDescription, _ former: EntityDescription, _ add: (String?, ModelChange.Kind) -> Void
    ) {
        for property in value.fetchedProperties {
            var older = former.fetchedProperties.first { $0.name == property.name }
            if let destination = older?.destination { older?.destination = newName(ofEntity: destination) }
            if older != property { add(property.name, .fetchedPropertyChanged(from: older, to: property)) }
        }
        for property in former.fetchedProperties
        where !value.fetchedProperties.contains(where: { $0.name == property.name }) {
            add(property.name, .fetchedPropertyChanged(from: property, to: nil))
        }
    }

    /// Compares the parts of the models besides their entities.
    mutating func compareUnstoredParts() {
        if Set(old.versionIdentifiers) != Set(new.versionIdentifiers) {
            changes.append(
                ModelChange(
                    "", nil, .versionIdentifiersChanged(from: old.versionIdentifiers, to: new.versionIdentifiers)))
        }
        let formerTemplates = old.fetchRequestTemplates.map { template in
            var template = template
            template.entity = newName(ofEntity: template.entity)
            return template
        }
        for template in new.fetchRequestTemplates {
            let former = formerTemplates.first { $0.name == template.name }
            guard former != template else { continue }
            changes.append(ModelChange("", nil, .templateChanged(template.name, from: former, to: template)))
        }
        for former in formerTemplates where new.fetchRequestTemplate(named: former.name) == nil {
            changes.append(ModelChange("", nil, .templateChanged(former.name, from: former, to: nil)))
        }
        let members = { (configuration: ConfigurationDescription) in configuration.entities.sorted() }
        for configuration in new.configurations {
            let former = old.configurations.first { $0.name == configuration.name }?.entities
                .map { newName(ofEntity: $0) }.sorted()
            guard former != members(configuration) else { continue }
            changes.append(
                ModelChange(
                    "", nil, .configurationChanged(configuration.name, from: former, to: members(configuration))))
        }
        for former in old.configurations where !new.configurations.contains(where: { $0.name == former.name }) {
            changes.append(
                ModelChange("", nil, .configurationChanged(former.name, from: members(former), to: nil)))
        }
        compareMessages()
    }

    /// Compares names and messages, language by language.
    private mutating func compareMessages() {
        for language in Set(old.messageTables.keys).union(new.messageTables.keys).sorted() {
            let (former, table) = (old.messageTables[language].map(renamed), new.messageTables[language])
            guard former ?? MessageTable() != table ?? MessageTable() else { continue }
            changes.append(ModelChange("", nil, .messagesChanged(language, from: former, to: table)))
        }
    }

    /// A table of the older model, by the names that its parts have now.
    private func renamed(_ table: MessageTable) -> MessageTable {
        var renamed = table
        renamed.names = [:]
        for (name, text) in table.names {
            let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let entity = old.entity(named: parts[0])
            let property = parts.dropFirst().map { name in entity.map { newName(name, in: $0) } ?? name }
            renamed.names[([newName(ofEntity: parts[0])] + property).joined(separator: ".")] = text
        }
        return renamed
    }

    /// The name that an older entity has now.
    private func newName(ofEntity name: String) -> String {
        old.entity(named: name).flatMap { match.newEntities[$0.index] }.map { new.entities[$0].name } ?? name
    }
}
