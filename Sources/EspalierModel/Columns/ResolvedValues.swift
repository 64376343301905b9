// A request for values bound to an entity: what is read of each object, how objects are grouped, what rows consist of.
//
// Invariants
//   1. The values of an object or group lie in slots: first the kept `inputs`, then one for each aggregate.
//   2. `columns`, `having` and the order read slots only, by paths of one attribute whose slot is theirs.
//   3. Distinct values of objects are groups by all columns.
// Not here: how the slots are filled (ValueCollector), and how rows are made of them (ValueCollector+Rows).

/// The values that a request reads and computes, checked against an entity.
public struct ResolvedValues: Sendable {
    /// One column of the rows.
    package struct Column: Sendable {
        package let name: String
        /// The slot of the value, or an expression of slots.
        let output: Output
        /// The type to which the value is converted.
        let resultType: AttributeType?
    }

    /// A value that is made of the slots.
    enum Output: Sendable {
        case slot(Int)
        case computed(ResolvedExpression)
    }

    /// An aggregate over objects.
    package struct Aggregation: Sendable {
        package let aggregate: ResolvedExpression.Aggregate
        /// The position of its value among the inputs; `nil` = the objects are counted.
        package let input: Int?
    }

    /// One criterion of the order of rows.
    struct Criterion: Sendable {
        let output: Output
        let isAscending: Bool
        let options: ComparisonOptions
    }

    /// The entity of the objects.
    public let entity: Entity
    /// The model of the entity.
    public let model: ManagedObjectModel
    /// The values that are read of each object: first those that are kept in slots.
    package let inputs: [ResolvedExpression]
    /// The types of the inputs; `nil` = several types are possible.
    package let inputTypes: [AttributeType?]
    /// The number of inputs that have slots.
    package let keptCount: Int
    /// The aggregates, each of which has a slot.
    package let aggregations: [Aggregation]
    /// Whether a row belongs to a group, which the kept inputs identify; otherwise each object has a row.
    package let isGrouped: Bool
    /// The columns.
    package let columns: [Column]
    /// Whether the columns are the slots, all of them in their order: a row then shares its array with them.
    let columnsAreSlots: Bool
    let having: ResolvedPredicate?
    let isDistinct: Bool
    let order: [Criterion]
    /// The order of the rows as one of objects; `nil` if only finished rows can be sorted.
    package let objectOrder: [ResolvedSortKey]?
    /// The number of rows that are skipped.
    package let offset: Int
    /// The greatest number of rows; `nil` = all.
    package let limit: Int?

    /// The names of the columns.
    public var columnNames: [String] { columns.map(\.name) }

    /// The order of the objects, if each has a row of its own, in that order; `nil` if a row needs other objects, too.
    package var rowOrder: [ResolvedSortKey]? {
        isGrouped || !aggregations.isEmpty || isDistinct ? nil : objectOrder
    }

    /// The number of objects in order that suffice for the rows; `nil` if all are needed.
    package var objectCountMax: Int? {
        guard rowOrder != nil, let limit else { return nil }
        let (sum, overflows) = limit.addingReportingOverflow(offset)
        return overflows ? nil : sum
    }

    /// Checks a request against the entity that it names, and resolves its names.
    ///
    /// - Throws: `FetchPredicateError`, whose subject names the column, group, condition or sort key: for unknown and
    ///   transient properties, to-many paths, values of groups that are neither grouped nor aggregated, and types that
    ///   do not fit.
    /// - Complexity: O(size of the request).
    public init(
        _ request: ValueRequest, for entity: Entity, in model: ManagedObjectModel
    ) throws(FetchPredicateError) {
        var resolver = ValueResolver(entity: entity, model: model)
        self = try resolver.resolve(request)
    }

    init(
        _ resolver: ValueResolver, isGrouped: Bool, columns: [Column], having: ResolvedPredicate?, isDistinct: Bool,
        order: [Criterion], objectOrder: [ResolvedSortKey]?, _ terms: FetchTerms
    ) {
        (entity, model) = (resolver.entity, resolver.model)
        (inputs, inputTypes) = (resolver.inputs.map(\.expression), resolver.inputs.map(\.type))
        (keptCount, aggregations) = (resolver.keptCount, resolver.aggregations)
        (self.isGrouped, self.columns, self.having) = (isGrouped, columns, having)
        (self.isDistinct, self.order, self.objectOrder) = (isDistinct, order, objectOrder)
        columnsAreSlots =
            columns.count == resolver.keptCount + resolver.aggregations.count
            && columns.enumerated().allSatisfy { position, column in
                if case .slot(position) = column.output { true } else { false }
            }
        (offset, limit) = (max(0, terms.fetchOffset), terms.fetchLimit > 0 ? terms.fetchLimit : nil)
        assert(keptCount <= inputs.count, "\(keptCount) of \(inputs.count) inputs are kept")
    }
}

/// The slots of one object or group, as conditions and expressions read them.
struct SlotSubject: PredicateSubject {
    let entity: Entity
    let values: [AttributeValue]

    /// The ID of no object.
    var objectID: ObjectID { ObjectID(storeTag: 0, entityTag: entity.tag, key: 1) }
    func value(at slot: Int) throws(FetchPredicateError) -> AttributeValue { values[slot] }
    func destination(at slot: Int) throws(FetchPredicateError) -> SlotSubject? { nil }
    func destinations(at slot: Int) throws(FetchPredicateError) -> [SlotSubject] { [] }
    func stopEvaluation(_ error: FetchPredicateError) throws(FetchPredicateError) { throw error }
}

extension ResolvedValues.Output {
    func value(_ subject: SlotSubject) throws(FetchPredicateError) -> AttributeValue {
        switch self {
        case .slot(let slot): subject.values[slot]
        case .computed(let expression): try expression.value(on: subject)
        }
    }
}
