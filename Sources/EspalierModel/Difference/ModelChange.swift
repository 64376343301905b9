// One difference between an older and a newer model: its subject, its kind, its cost and its loss.

/// One difference between two models.
public struct ModelChange: Sendable, Hashable {
    /// The work that a change requires of a store.
    public enum Cost: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// Work that does not depend on the number of rows.
        case constant
        /// The store reads the rows and changes none.
        case check
        /// The store reads the rows and builds an index.
        case indexBuild
        /// The store rewrites rows or entries of relationships.
        case rewrite

        /// The cost in words.
        public var description: String { self == .indexBuild ? "index build" : rawValue }
    }

    /// The kinds of changes; those of attributes are those of the elements of composites, too.
    public enum Kind: Sendable, Hashable {
        case entityAdded
        case entityRemoved
        /// The entity had another name.
        case entityRenamed(from: String)
        case superentityChanged(from: String?, to: String?)
        /// The entity has become abstract, or is no longer abstract.
        case abstractnessChanged(isAbstract: Bool)
        case attributeAdded(AttributeType)
        case relationshipAdded(to: String)
        case attributeRemoved
        case relationshipRemoved
        /// The property had another name.
        case propertyRenamed(from: String)
        /// The property was declared by other entities of the hierarchy.
        case propertyMoved(from: [String])
        case typeChanged(from: AttributeType, to: AttributeType)
        case madeRequired
        case madeOptional
        case madeTransient
        case madeStored
        case defaultChanged(from: AttributeValue, to: AttributeValue)
        case transformerChanged(from: String?, to: String?)
        /// Stores compute the value in another way, or the application sets it now (MD-27); rules in Core Data's
        /// spelling.
        case derivationChanged(from: String?, to: String?)
        case cardinalityChanged(
            from: RelationshipDescription.Cardinality, to: RelationshipDescription.Cardinality)
        case destinationChanged(from: String, to: String)
        case inverseChanged(from: String?, to: String?)
        case deleteRuleChanged(from: DeleteRule, to: DeleteRule)
        /// The minimum or maximum count of a relationship has changed.
        case countsChanged
        case indexAdded(String)
        case indexRemoved(String)
        case constraintAdded([String])
        case constraintRemoved([String])
        // Parts that no store keeps, which are compared on request only.
        /// The attribute has other validation rules (MD-16).
        case rulesChanged(from: [ValidationRule], to: [ValidationRule])
        /// Saves treat an insertion with unique values that a row has already in another way (F-6).
        case constraintActionChanged([String], from: ConstraintAction?, to: ConstraintAction?)
        /// A fetched property is new, gone or another one (FR-24).
        case fetchedPropertyChanged(from: FetchedPropertyDescription?, to: FetchedPropertyDescription?)
        /// A request of the model is new, gone or another one (FR-17).
        case templateChanged(String, from: FetchRequestTemplate?, to: FetchRequestTemplate?)
        /// A configuration is new, gone or has other entities (MD-04).
        case configurationChanged(String, from: [String]?, to: [String]?)
        /// Tools generate a class of another name.
        case classNameChanged(from: String?, to: String?)
        /// The modifier of the version hash differs (MD-05).
        case hashModifierChanged(from: String?, to: String?)
        /// The application's own texts differ.
        case userInfoChanged(from: [String: String], to: [String: String])
        /// Stores may keep large values in files of their own, or no longer (MD-22).
        case externalStorageChanged(isAllowed: Bool)
        /// The names and messages of a language are new, gone or other ones (MD-07).
        case messagesChanged(String, from: MessageTable?, to: MessageTable?)
        /// The names of the version differ.
        case versionIdentifiersChanged(from: [String], to: [String])
    }

    /// The entity's name in the newer model, or in the older one if the entity or its property was removed; empty if
    /// the change concerns the model as a whole.
    public let entity: String
    /// The property, or the path of an element such as `home.zip`; `nil` if the change concerns the entity itself.
    public let property: String?
    /// The kind of the change.
    public let kind: Kind
    /// The cost of the change for a store.
    public let cost: Cost
    /// The names of the older entities whose rows determine the cost.
    ///
    /// A name does not include the rows of subentities.
    public let rows: [String]
    /// The data that the change would lose.
    public let loss: MigrationLoss?

    package init(
        _ entity: String, _ property: String? = nil, _ kind: Kind, _ cost: Cost = .constant, rows: [String] = [],
        loss: MigrationLoss? = nil
    ) {
        (self.entity, self.property, self.kind) = (entity, property, kind)
        (self.cost, self.rows, self.loss) = (cost, rows, loss)
    }

    /// `Entity` or `Entity.property`, or `the model`.
    public var subject: String { property.map { "\(entity).\($0)" } ?? (entity.isEmpty ? "the model" : entity) }
}

extension ModelChange: CustomStringConvertible {
    /// One line: the subject, the kind, the cost if it depends on rows, and the loss.
    public var description: String {
        let costText =
            switch cost {
            case .constant: ""
            case .check: " (reads the rows of \(rows.joined(separator: ", ")))"
            case .indexBuild: " (builds an index of the rows of \(rows.joined(separator: ", ")))"
            case .rewrite: " (rewrites the rows of \(rows.joined(separator: ", ")))"
            }
        return "\(subject): \(kind)" + (rows.isEmpty ? "" : costText) + (loss.map { "; loses: \($0)" } ?? "")
    }
}

extension ModelChange.Kind: CustomStringConvertible {
    /// The change in words.
    public var description: String {
        switch self {
        case .entityAdded: "new entity"
        case .entityRemoved: "removed entity"
        case .entityRenamed(let name): "was called \(name)"
        case .superentityChanged(let old, let new):
            "inherits from \(new ?? "no entity"), before it inherited from \(old ?? "no entity")"
        case .abstractnessChanged(let isAbstract): isAbstract ? "is now abstract" : "is no longer abstract"
        case .attributeAdded(let type): "new attribute of type \(type)"
        case .relationshipAdded(let destination): "new relationship to \(destination)"
        case .attributeRemoved: "removed attribute"
        case .relationshipRemoved: "removed relationship"
        case .propertyRenamed(let name): "was called \(name)"
        case .propertyMoved(let entities): "was declared by \(entities.joined(separator: ", "))"
        case .typeChanged(let old, let new): "type \(new), before \(old)"
        case .madeRequired: "must now have a value"
        case .madeOptional: "no longer needs a value"
        case .madeTransient: "is no longer stored"
        case .madeStored: "is now stored"
        case .defaultChanged(let old, let new): "default \(new.shortText), before \(old.shortText)"
        case .transformerChanged(let old, let new): "transformer \(new ?? "none"), before \(old ?? "none")"
        case .derivationChanged(let old, let new):
            "derived by \(new ?? "nothing"), before by \(old ?? "nothing")"
        case .cardinalityChanged(let old, let new): "\(Self.text(new)), before \(Self.text(old))"
        case .destinationChanged(let old, let new): "leads to \(new), before it led to \(old)"
        case .inverseChanged(let old, let new): "inverse \(new ?? "none"), before \(old ?? "none")"
        case .deleteRuleChanged(let old, let new): "delete rule \(new), before \(old)"
        case .countsChanged: "the minimum or maximum count differs"
        case .indexAdded(let name): "new index \(name)"
        case .indexRemoved(let name): "removed index \(name)"
        case .constraintAdded(let names): "\(names.joined(separator: ", ")) must now be unique"
        case .constraintRemoved(let names): "\(names.joined(separator: ", ")) no longer must be unique"
        case .rulesChanged(let old, let new): "rules \(Self.text(new)), before \(Self.text(old))"
        case .constraintActionChanged(let names, let old, let new):
            "action for equal \(names.joined(separator: ", ")) \(Self.text(new)), before \(Self.text(old))"
        case .fetchedPropertyChanged(let old, let new): "fetches \(Self.text(new)), before \(Self.text(old))"
        case .templateChanged(let name, let old, let new):
            "request \(name) of \(Self.text(new)), before \(Self.text(old))"
        case .configurationChanged(let name, let old, let new):
            "configuration \(name) of \(Self.text(new)), before \(Self.text(old))"
        case .classNameChanged(let old, let new): "class \(new ?? "none"), before \(old ?? "none")"
        case .hashModifierChanged(let old, let new): "hash modifier \(new ?? "none"), before \(old ?? "none")"
        case .userInfoChanged(let old, let new): "texts \(Self.text(new)), before \(Self.text(old))"
        case .externalStorageChanged(let isAllowed):
            isAllowed ? "may be in a file of its own" : "may no longer be in a file of its own"
        case .messagesChanged(let language, let old, let new):
            "messages in \(language) \(Self.text(new, without: old)), before \(Self.text(old, without: new))"
        case .versionIdentifiersChanged(let old, let new):
            "version \(Self.text(new)), before \(Self.text(old))"
        }
    }

    /// The kind as one word, for programs; the words never change.
    public var name: String {
        switch self {
        case .entityAdded: "entityAdded"
        case .entityRemoved: "entityRemoved"
        case .entityRenamed: "entityRenamed"
        case .superentityChanged: "superentityChanged"
        case .abstractnessChanged: "abstractnessChanged"
        case .attributeAdded: "attributeAdded"
        case .relationshipAdded: "relationshipAdded"
        case .attributeRemoved: "attributeRemoved"
        case .relationshipRemoved: "relationshipRemoved"
        case .propertyRenamed: "propertyRenamed"
        case .propertyMoved: "propertyMoved"
        case .typeChanged: "typeChanged"
        case .madeRequired: "madeRequired"
        case .madeOptional: "madeOptional"
        case .madeTransient: "madeTransient"
        case .madeStored: "madeStored"
        case .defaultChanged: "defaultChanged"
        case .transformerChanged: "transformerChanged"
        case .derivationChanged: "derivationChanged"
        case .cardinalityChanged: "cardinalityChanged"
        case .destinationChanged: "destinationChanged"
        case .inverseChanged: "inverseChanged"
        case .deleteRuleChanged: "deleteRuleChanged"
        case .countsChanged: "countsChanged"
        case .indexAdded: "indexAdded"
        case .indexRemoved: "indexRemoved"
        case .constraintAdded: "constraintAdded"
        case .constraintRemoved: "constraintRemoved"
        case .rulesChanged: "rulesChanged"
        case .constraintActionChanged: "constraintActionChanged"
        case .fetchedPropertyChanged: "fetchedPropertyChanged"
        case .templateChanged: "templateChanged"
        case .configurationChanged: "configurationChanged"
        case .classNameChanged: "classNameChanged"
        case .hashModifierChanged: "hashModifierChanged"
        case .userInfoChanged: "userInfoChanged"
        case .externalStorageChanged: "externalStorageChanged"
        case .messagesChanged: "messagesChanged"
        case .versionIdentifiersChanged: "versionIdentifiersChanged"
        }
    }

    private static func text(_ cardinality: RelationshipDescription.Cardinality) -> String {
        switch cardinality {
        case .toOne: "to-one"
        case .toMany: "to-many"
        case .ordered: "to-many in order"
        }
    }
}
