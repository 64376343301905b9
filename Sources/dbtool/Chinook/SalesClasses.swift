// The sales half of the Chinook library as typed classes: people, invoices and their lines.
//
// Chinook has no table of persons. `Person` holds the common columns of its tables Employee and Customer, so the model
// has one entity more than Chinook has tables with a class, and the same rows.

import Espalier
import EspalierModel
import Foundation

/// The common attributes of employees and customers.
@Entity(isAbstract: true) class Person: ManagedObject {
    var firstName: String
    @Attribute(.indexed) var lastName: String
    var address: String?
    var city: String?
    var state: String?
    var country: String?
    var postalCode: String?
    var phone: String?
    var fax: String?
    var email: String?
}

/// An employee of the shop; `manager` and `reports` form a tree.
@Entity final class Employee: Person {
    @Attribute(.unique) var employeeID: Int
    var title: String?
    var birthDate: Date?
    var hireDate: Date?
    @Relationship(inverse: \Employee.reports) var manager: Employee?
    var reports: ToMany<Employee>
    var customers: ToMany<Customer>
}

/// A customer of the shop.
@Entity final class Customer: Person {
    @Attribute(.unique) var customerID: Int
    var company: String?
    @Relationship(inverse: \Employee.customers) var supportRep: Employee?
    @Relationship(deleteRule: .deny) var invoices: ToMany<Invoice>
}

/// The purchase of one customer at one time.
@Entity final class Invoice: ManagedObject {
    @Attribute(.unique) var invoiceID: Int
    @Attribute(.indexed) var invoiceDate: Date
    var billingAddress: String?
    var billingCity: String?
    var billingState: String?
    @Attribute(.indexed) var billingCountry: String?
    var billingPostalCode: String?
    var total: Decimal
    @Relationship(inverse: \Customer.invoices, isRequired: true) var customer: Customer?
    @Relationship(deleteRule: .cascade) var lines: ToMany<InvoiceLine>
}

/// One track on an invoice.
@Entity final class InvoiceLine: ManagedObject {
    @Attribute(.unique) var invoiceLineID: Int
    var unitPrice: Decimal
    var quantity: Int
    @Relationship(inverse: \Invoice.lines, isRequired: true) var invoice: Invoice?
    @Relationship(inverse: \Track.invoiceLines, isRequired: true) var track: Track?
}
