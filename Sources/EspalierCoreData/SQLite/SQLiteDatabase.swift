// A SQLite file that is read: its schema, its tables and its indexes (https://www.sqlite.org/fileformat2.html).
//
// Invariants
//   1. The file and what lies beside it are never written.
//   2. No other program writes the file meanwhile: no lock is taken.

package import EspalierEngine

/// An open SQLite file.
package final class SQLiteDatabase {
    /// One entry of the schema.
    package struct Entry: Sendable {
        /// `table`, `index`, `view` or `trigger`.
        package let type: String
        package let name: String
        /// The table to which an index belongs.
        package let tableName: String
        /// The first page of its tree; 0 if it has none.
        let root: UInt32
        /// The statement that made it; empty for an index that a constraint has made.
        package let definition: String
    }

    static let entryCountMax = 65_536

    let pages: SQLitePages
    /// All tables, indexes, views and triggers.
    package let schema: [Entry]
    private let tables: [String: Int]

    /// Opens the file at `path` and reads its schema.
    package init(_ path: String, in fileSystem: any FileSystem = PosixFileSystem.shared) throws(SQLiteFileError) {
        pages = try SQLitePages(path, in: fileSystem)
        var schema: [Entry] = []
        var tables: [String: Int] = [:]
        var cursor = SQLiteCursor(pages, root: 1, .table)
        while try cursor.next() {
            guard schema.count < Self.entryCountMax, case .text(let type) = cursor.record.value(0),
                case .text(let name) = cursor.record.value(1), case .text(let tableName) = cursor.record.value(2)
            else { throw pages.error(1, .schema, "row \(cursor.rowID) of the schema lacks its names") }
            var definition = ""
            if case .text(let text) = cursor.record.value(4) { definition = text }
            let root = UInt32(exactly: cursor.record.integer(3) ?? 0) ?? 0
            if type == "table" { tables[name.uppercased()] = schema.count }
            schema.append(
                Entry(type: type, name: name, tableName: tableName, root: root, definition: definition))
        }
        (self.schema, self.tables) = (schema, tables)
    }

    /// The path of the file.
    package var path: String { pages.path }
    /// Bytes of a page.
    package var pageSize: Int { pages.header.pageSize }
    /// The number of pages, those of the log included.
    package var pageCount: UInt32 { pages.pageCount }
    /// The encoding of text.
    package var encoding: SQLiteTextEncoding { pages.header.encoding }
    /// Whether there is a log beside the file without a valid header: SQLite does not read it.
    package var hasUnreadLog: Bool { pages.hasUnreadLog }

    /// The table called `name`, in whatever case; `nil` if there is none.
    package func table(_ name: String) throws(SQLiteFileError) -> SQLiteTable? {
        guard let entry = tables[name.uppercased()].map({ schema[$0] }) else { return nil }
        var parser = SQLiteTableParser(entry.definition)
        let definition: SQLiteTableDefinition
        do throws(SQLiteTableParser.Fault) {
            definition = try parser.definition()
        } catch {
            throw pages.error(1, .tableDefinition, "table \(entry.name): \(error.message)")
        }
        guard !definition.isWithoutRowIDs else {
            throw pages.error(entry.root, .rowIDs, "table \(entry.name) is WITHOUT ROWID, which is not supported")
        }
        return SQLiteTable(database: self, name: entry.name, root: entry.root, definition: definition)
    }

    /// The entries of the index called `name`, in its order; `nil` if there is none.
    package func entries(ofIndex name: String) -> SQLiteCursor? {
        schema.first { $0.type == "index" && $0.name == name }.map { SQLiteCursor(pages, root: $0.root, .index) }
    }
}

/// A table with row IDs.
package struct SQLiteTable {
    private let database: SQLiteDatabase
    package let name: String
    private let root: UInt32
    /// The names of the columns, in the order of records.
    package let columns: [String]
    /// The declared types of the columns, in capitals; empty where there is none.
    let types: [String]
    /// The column that is the row ID, and null in records.
    package let rowIDColumn: Int?
    private let defaultColumns: Set<Int>
    private let places: [String: Int]

    init(database: SQLiteDatabase, name: String, root: UInt32, definition: SQLiteTableDefinition) {
        (self.database, self.name, self.root) = (database, name, root)
        (columns, types) = (definition.columns.map(\.name), definition.columns.map(\.type))
        rowIDColumn = definition.rowIDColumn
        defaultColumns = Set(definition.columns.indices.filter { definition.columns[$0].hasDefault })
        places = Dictionary(
            definition.columns.enumerated().map { ($1.name.uppercased(), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The position of a column by its name, in whatever case.
    package func column(_ name: String) -> Int? { places[name.uppercased()] }

    /// A walk through all rows, by row ID.
    package func rows() -> SQLiteCursor { SQLiteCursor(database.pages, root: root, .table) }

    /// Refuses a record without a column that has a default: its value would be in the definition, which is not read.
    package func check(_ record: SQLiteRecord) throws(SQLiteFileError) {
        guard !defaultColumns.isEmpty, let column = defaultColumns.first(where: { $0 >= record.count }) else { return }
        throw database.pages.error(
            root, .tableDefinition, "table \(name): a row lacks \(columns[column]), whose default is not supported")
    }
}
