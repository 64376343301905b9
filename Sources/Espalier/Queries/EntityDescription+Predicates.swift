// Conditions, expressions and orders in descriptions of entities, as `#Predicate`, `#Expression` and key paths (C-10).
//
// Invariants
//   1. They mean the same as the forms with texts. A predicate without a counterpart is refused with the model that has
//      it, and the error of the model says why.

public import EspalierModel
public import FoundationEssentials

extension EntityDescription.Index {
    /// Describes an index of the objects for which a predicate on their own values holds (SD-07).
    ///
    ///     EntityDescription.Index(
    ///         "loud", of: Track.self, on: [.init("loudness")], matching: #Predicate { $0.loudness > 10 })
    ///
    /// - Complexity: O(size of the predicate).
    public init<Object: ManagedObject>(
        _ name: String, of objectClass: Object.Type, on elements: [Element], matching predicate: Predicate<Object>
    ) {
        self.init(name, on: elements, predicateFormat: PredicateTranslator.format(predicate))
    }
}

extension EntityDescription.Index.Element {
    /// Describes a part of an index whose values are those of an expression (FR-25).
    ///
    ///     let area: Expression<Placard, Int> = #Expression { $0.width * $0.height }
    ///     EntityDescription.Index("area", on: [.init(expression: area)])
    ///
    /// - Complexity: O(size of the expression).
    public init<Object: ManagedObject, Value>(
        expression: Expression<Object, Value>, isAscending: Bool = true, folding: ComparisonOptions = []
    ) {
        self.init(
            expression: PredicateTranslator.format(expression), isAscending: isAscending, folding: folding)
    }
}

extension FetchedPropertyDescription.SortElement {
    /// Describes a criterion by a key path of the results.
    ///
    /// - Complexity: O(1).
    public init<Object: ManagedObject>(_ key: TypedSortKey<Object>) {
        let path =
            // The model refuses a transient property by its name.
            switch key.namesInMemory {
            case .success(let names): names.joined(separator: ".")
            // No property has this name, so the model is refused with it.
            case .failure(let problem): problem.expression
            }
        self.init(path, isAscending: key.order == .forward, options: key.options)
    }
}

extension EntityDescription {
    /// A fetched property whose condition reads the results and the object that has the property (FR-24).
    ///
    /// For @Entity only.
    public static func _fetched<Destination: ManagedObject, Source: ManagedObject>(
        _ name: String, _ type: [Destination].Type, matching predicate: Predicate<Destination, Source>,
        sortedBy sortElements: [FetchedPropertyDescription.SortElement] = [], limit: Int = 0,
        userInfo: [String: String] = [:]
    ) -> _PropertyDescription {
        _fetched(
            name, type, where: PredicateTranslator.format(predicate), sortedBy: sortElements, limit: limit,
            userInfo: userInfo)
    }

    /// A fetched property whose condition reads the results only (FR-24).
    ///
    /// For @Entity only.
    public static func _fetched<Destination: ManagedObject>(
        _ name: String, _ type: [Destination].Type, matching predicate: Predicate<Destination>,
        sortedBy sortElements: [FetchedPropertyDescription.SortElement] = [], limit: Int = 0,
        userInfo: [String: String] = [:]
    ) -> _PropertyDescription {
        _fetched(
            name, type, where: PredicateTranslator.format(predicate), sortedBy: sortElements, limit: limit,
            userInfo: userInfo)
    }
}

extension Derivation {
    /// The number of those destinations of a to-many relationship for which a predicate on their own values holds.
    ///
    /// - Complexity: O(size of the predicate).
    public static func count<Object: ManagedObject>(
        of relationship: String, matching predicate: Predicate<Object>
    ) -> Derivation { .count(of: relationship, where: PredicateTranslator.format(predicate)) }
}

extension ValidationRule {
    /// A predicate holds for each value (MD-16).
    ///
    /// - Complexity: O(size of the predicate).
    public static func matching<Value: AttributeConvertible>(
        _ predicate: Predicate<Value>, message: String? = nil
    ) -> ValidationRule { .predicate(PredicateTranslator.format(ofRule: predicate), message: message) }
}
