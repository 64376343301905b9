// One way in which a newer model differs from an older one: where, what, what it costs and what it would lose.

/// One difference of two models.
public struct ModelChange: Sendable, Hashable {
    /// What a store has to do for a change.
    public enum Cost: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// Nothing that depends on the number of rows.
        case constant
        /// It reads the rows, and changes none.
        case check
        /// It reads the rows and builds an index.
        case indexBuild
        /// It writes rows, or entries of relationships, anew.
        case rewrite

        /// In words.
        public var description: String { self == .indexBuild ? "index build" : rawValue }
    }

    /// What has changed.
    public enum Kind: Sendable, Hashable {
        case entityAdded
        case entityRemoved
        /// The entity was called otherwise.
        case entityRenamed(from: String)
        case superentityChanged(from: String?, to: String?)
        /// Whether no object may be of exactly this entity any more.
        case abstractnessChanged(isAbstract: Bool)
        case attributeAdded(AttributeType)
        case relationshipAdded(to: String)
        case attributeRemoved
        case relationshipRemoved
        /// The property was called otherwise.
        case propertyRenamed(from: String)
        /// Other entities of the hierarchy declared the property.
        case propertyMoved(from: [String])
        case typeChanged(from: AttributeType, to: AttributeType)
        /// The elements of a composite are others.
        case elementsChanged
        case madeRequired
        case madeOptional
        case madeTransient
        case madeStored
        case defaultChanged(from: AttributeValue, to: AttributeValue)
        case transformerChanged(from: String?, to: String?)
        case cardinalityChanged(
            from: RelationshipDescription.Cardinality, to: RelationshipDescription.Cardinality)
        case destinationChanged(from: String, to: String)
        case inverseChanged(from: String?, to: String?)
        case deleteRuleChanged(from: DeleteRule, to: DeleteRule)
        /// The least or the greatest count of a relationship is another one.
        case countsChanged
        case indexAdded(String)
        case indexRemoved(String)
        case constraintAdded([String])
        case constraintRemoved([String])
    }

    /// The entity, as the newer model calls it; as the older one does, if it or its property was removed.
    public let entity: String
    /// The property; `nil` if the change is one of the entity.
    public let property: String?
    /// What has changed.
    public let kind: Kind
    /// What it costs a store.
    public let cost: Cost
    /// The entities of the older model whose rows the cost is about, without those that inherit from them.
    public let rows: [String]
    /// What it would lose.
    public let loss: MigrationLoss?

    package init(
        _ entity: String, _ property: String? = nil, _ kind: Kind, _ cost: Cost = .constant, rows: [String] = [],
        loss: MigrationLoss? = nil
    ) {
        (self.entity, self.property, self.kind) = (entity, property, kind)
        (self.cost, self.rows, self.loss) = (cost, rows, loss)
    }

    /// `Entity` or `Entity.property`.
    public var subject: String { property.map { "\(entity).\($0)" } ?? entity }
}

extension ModelChange: CustomStringConvertible {
    /// One line: the subject, what has changed, what it costs if that depends on rows, and what would be lost.
    public var description: String {
        let costText =
            switch cost {
            case .constant: ""
            case .check: " (reads the rows of \(rows.joined(separator: ", ")))"
            case .indexBuild: " (builds an index of the rows of \(rows.joined(separator: ", ")))"
            case .rewrite: " (writes the rows of \(rows.joined(separator: ", ")) anew)"
            }
        return "\(subject): \(kind)" + (rows.isEmpty ? "" : costText) + (loss.map { "; loses: \($0)" } ?? "")
    }
}

extension ModelChange.Kind: CustomStringConvertible {
    /// What has changed, in words.
    public var description: String {
        switch self {
        case .entityAdded: "new entity"
        case .entityRemoved: "the entity is gone"
        case .entityRenamed(let name): "was called \(name)"
        case .superentityChanged(let old, let new):
            "inherits from \(new ?? "no entity"), before from \(old ?? "no entity")"
        case .abstractnessChanged(let isAbstract): isAbstract ? "is abstract now" : "is not abstract any more"
        case .attributeAdded(let type): "new attribute of type \(type)"
        case .relationshipAdded(let destination): "new relationship to \(destination)"
        case .attributeRemoved: "the attribute is gone"
        case .relationshipRemoved: "the relationship is gone"
        case .propertyRenamed(let name): "was called \(name)"
        case .propertyMoved(let entities): "was declared by \(entities.joined(separator: ", "))"
        case .typeChanged(let old, let new): "type \(new), before \(old)"
        case .elementsChanged: "other elements of the composite"
        case .madeRequired: "must have a value now"
        case .madeOptional: "need not have a value any more"
        case .madeTransient: "is not stored any more"
        case .madeStored: "is stored now"
        case .defaultChanged(let old, let new): "default \(new.shortText), before \(old.shortText)"
        case .transformerChanged(let old, let new): "transformer \(new ?? "none"), before \(old ?? "none")"
        case .cardinalityChanged(let old, let new): "\(Self.text(new)), before \(Self.text(old))"
        case .destinationChanged(let old, let new): "leads to \(new), before to \(old)"
        case .inverseChanged(let old, let new): "inverse \(new ?? "none"), before \(old ?? "none")"
        case .deleteRuleChanged(let old, let new): "delete rule \(new), before \(old)"
        case .countsChanged: "other least or greatest count"
        case .indexAdded(let name): "new index \(name)"
        case .indexRemoved(let name): "the index \(name) is gone"
        case .constraintAdded(let names): "\(names.joined(separator: ", ")) must be unique now"
        case .constraintRemoved(let names): "\(names.joined(separator: ", ")) need not be unique any more"
        }
    }

    /// The kind as one word, for programs: never changed.
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
        case .elementsChanged: "elementsChanged"
        case .madeRequired: "madeRequired"
        case .madeOptional: "madeOptional"
        case .madeTransient: "madeTransient"
        case .madeStored: "madeStored"
        case .defaultChanged: "defaultChanged"
        case .transformerChanged: "transformerChanged"
        case .cardinalityChanged: "cardinalityChanged"
        case .destinationChanged: "destinationChanged"
        case .inverseChanged: "inverseChanged"
        case .deleteRuleChanged: "deleteRuleChanged"
        case .countsChanged: "countsChanged"
        case .indexAdded: "indexAdded"
        case .indexRemoved: "indexRemoved"
        case .constraintAdded: "constraintAdded"
        case .constraintRemoved: "constraintRemoved"
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
