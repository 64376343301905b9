// The results of a request for values: rows of values with the names of their columns.

/// Rows of values, in the order of the request (Behaviour FR-02).
public struct ResultRows: RandomAccessCollection, Sendable, Hashable {
    /// The names of the columns.
    public let columns: [String]
    private let rows: [[AttributeValue]]
    private let positions: [String: Int]

    package init(_ columns: [String], _ rows: [[AttributeValue]]) {
        (self.columns, self.rows) = (columns, rows)
        positions = Dictionary(zip(columns, columns.indices)) { first, _ in first }
    }

    /// Zero.
    public var startIndex: Int { 0 }
    /// The number of rows.
    public var endIndex: Int { rows.count }
    /// The row at a position.
    public subscript(position: Int) -> ResultRow {
        ResultRow(values: rows[position], columns: columns, positions: positions)
    }
}

/// The values of one row.
public struct ResultRow: Sendable, Hashable {
    /// The values, in the order of the columns.
    public let values: [AttributeValue]
    /// The names of the columns.
    public let columns: [String]
    fileprivate let positions: [String: Int]

    /// The value of a column; `nil` if there is no such column.
    public subscript(column: String) -> AttributeValue? { positions[column].map { values[$0] } }

    /// The values by the names of their columns, without nulls.
    public var dictionary: [String: AttributeValue] {
        var dictionary: [String: AttributeValue] = [:]
        for (column, value) in zip(columns, values) where !value.isNull { dictionary[column] = value }
        return dictionary
    }
}

extension ResultRow: CustomStringConvertible {
    /// The names and values.
    public var description: String {
        zip(columns, values).map { "\($0): \($1.shortText)" }.joined(separator: ", ")
    }
}
