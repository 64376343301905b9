// Applications import Espalier only: schema types, values, predicates and requests come along, and so do the store
// contract and the stores, whose errors and conflicts a save reports.

@_exported public import EspalierModel
@_exported public import EspalierStore
