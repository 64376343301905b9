// Applications import only Espalier, which exports schema types, values, predicates and requests, and also the store
// contract and the stores, whose errors and conflicts a save reports.

@_exported public import EspalierModel
@_exported public import EspalierStore
