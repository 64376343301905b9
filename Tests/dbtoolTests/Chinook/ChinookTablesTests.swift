// The library in its publisher's form: counts, and the few columns that need care.

import Foundation
import Testing

@testable import dbtool

@Suite struct ChinookTablesTests {
    @Test func `all rows of the library are read`() throws {
        let tables = try ChinookTables.load()

        #expect(
            tables.counts.map(\.rowCount) == [25, 5, 275, 347, 3_503, 8, 59, 412, 2_240, 18, 8_715],
            "as the publisher's SQL file has them")
        #expect(tables.rowCount == 15_607)
    }

    @Test func `missing texts, dates and prices are read as what they mean`() throws {
        let tables = try ChinookTables.load()

        #expect(tables.customer.last?.company.text == nil)
        #expect(tables.customer.first?.company.text == "Embraer - Empresa Brasileira de Aeronáutica S.A.")
        #expect(tables.employee.first?.reportsTo == nil)
        #expect(tables.invoice.first?.invoiceDate.timeIntervalSince1970 == 1_609_459_200)
        #expect(tables.track.first?.unitPrice == Decimal(string: "0.99"))
        #expect(tables.invoice.reduce(Decimal(0)) { $0 + $1.total } == Decimal(string: "2328.60"))
    }
}
