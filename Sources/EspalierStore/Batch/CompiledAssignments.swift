// The assignments of a command, compiled for the rows of one entity in its present layout.
//
// Invariants
//   1. A compiled value is the one that an evaluation of the assignment gives, and it breaks no rule.
//   2. Without a compiled value the assignment has to be evaluated: only an evaluation finds errors and broken rules.

internal import EspalierModel

/// Assignments that are computed from the bytes of rows.
struct CompiledAssignments {
    /// The origin of a new value.
    private enum Origin {
        /// A constant that breaks no rule.
        case constant(AttributeValue)
        /// A number, which is converted to the type of the attribute.
        case number(NumberExpression, AttributeType)
        case evaluation
    }

    /// An attribute that gets a new value.
    private struct Target {
        let origin: Origin
        /// Whether a row without a value breaks a rule.
        let isRequired: Bool
        let rules: [PreparedRule]
    }

    private let reader: RowReader
    private let layoutNumber: UInt16
    private let shape: RowLayout.Shape
    private let targets: [Target]
    /// Memory for operands, reused for every row.
    private var stack: [PlainNumber] = []

    /// Compiles assignments to attributes of `entity`, one for each slot.
    ///
    /// - Parameter rules: `nil` if the command does not validate.
    /// - Returns: `nil` for an entity without rows.
    init?(
        _ assignments: [(slot: Int, assignment: ResolvedAssignment)], of entity: Entity, _ rules: inout BatchRules?,
        _ numbering: StoreNumbering
    ) {
        guard let layout = numbering.currentLayouts[entity.index], let shape = numbering.shapes[layout.number]
        else { return nil }
        assert(shape.entityNumber == numbering.entityNumbers[entity.index], "a layout of rows of another entity")
        (reader, layoutNumber, self.shape) = (RowReader(numbering: numbering), layout.number, shape)
        var targets: [Target] = []
        for (slot, assignment) in assignments {
            let origin = Self.origin(slot, assignment, of: entity, &rules, layout)
            targets.append(
                Target(
                    origin: origin, isRequired: rules?.requiresValue(at: slot, of: entity) ?? false,
                    rules: rules?.rules(of: entity)[slot] ?? []))
        }
        self.targets = targets
    }

    private static func origin(
        _ slot: Int, _ assignment: ResolvedAssignment, of entity: Entity, _ rules: inout BatchRules?,
        _ layout: RowLayout
    ) -> Origin {
        assert(entity.isKind(of: assignment.entity), "\(assignment.name) is no attribute of \(entity.name)")
        let type = entity.attributes[slot].type
        if let constant = assignment.constant {
            let isValid = rules?.broken(constant, at: slot, of: entity).isEmpty ?? true
            return isValid && type.accepts(constant) ? .constant(constant) : .evaluation
        }
        // An evaluation converts its value to the type that the attribute has in the entity of the assignment.
        guard assignment.entity.attributes[slot].type == type,
            let expression = NumberExpression(assignment.expression, in: layout)
        else { return .evaluation }
        return .number(expression, type)
    }

    /// The offsets of a row of the entity in its present layout; `nil` for a row of another layout, and for one that
    /// `RowReader.check` refuses.
    func offsets(of row: RawSpan) -> RowOffsets? {
        RowOffsets.layoutNumber(row) == layoutNumber ? reader.soundOffsets(of: row, shape) : nil
    }

    /// The value of the assignment at `position` for a row with these offsets; `nil` if it has to be evaluated.
    ///
    /// - Complexity: O(size of the expression), and the check of the attribute's rules.
    mutating func value(_ position: Int, _ row: RawSpan, _ offsets: RowOffsets) -> AttributeValue? {
        assert(RowOffsets.layoutNumber(row) == layoutNumber, "a row of layout \(RowOffsets.layoutNumber(row))")
        switch targets[position].origin {
        case .constant(let value): return value
        case .evaluation: return nil
        case .number(let expression, let type):
            guard let value = expression.number(row, offsets, &stack).stored(as: type) else { return nil }
            if value.isNull { return targets[position].isRequired ? nil : value }
            return targets[position].rules.allSatisfy { $0.holds(for: value) } ? value : nil
        }
    }
}
