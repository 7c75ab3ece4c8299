-- TPROC-C's transactions. Each is one statement for the client, so that its end is the commit.

CREATE FUNCTION iolite_tproc_c.customer_named(wid INTEGER, did INTEGER, named TEXT) RETURNS INTEGER
LANGUAGE plpgsql AS $$
DECLARE
    ids INTEGER[];
BEGIN
    SELECT array_agg(c_id ORDER BY c_first) INTO ids FROM iolite_tproc_c.customer
     WHERE c_w_id = wid AND c_d_id = did AND c_last = named;
    RETURN ids[(cardinality(ids) + 1) / 2];
END $$;

CREATE FUNCTION iolite_tproc_c.new_order_txn(wid INTEGER, did INTEGER, cid INTEGER, items INTEGER[], suppliers INTEGER[],
    quantities INTEGER[]) RETURNS BIGINT
LANGUAGE plpgsql AS $$
DECLARE
    discount INTEGER; last_name TEXT; credit TEXT; w_rate INTEGER; d_rate INTEGER;
    next_id INTEGER; price INTEGER; left_over INTEGER; info TEXT; data TEXT; amount INTEGER; total BIGINT := 0;
    is_local INTEGER := 1;
BEGIN
    SELECT c_discount, c_last, c_credit, w_tax INTO STRICT discount, last_name, credit, w_rate
      FROM iolite_tproc_c.customer, iolite_tproc_c.warehouse
     WHERE w_id = wid AND c_w_id = w_id AND c_d_id = did AND c_id = cid;
    UPDATE iolite_tproc_c.district SET d_next_o_id = d_next_o_id + 1
     WHERE d_w_id = wid AND d_id = did RETURNING d_next_o_id - 1, d_tax INTO STRICT next_id, d_rate;
    FOR n IN 1 .. cardinality(items) LOOP
        IF suppliers[n] <> wid THEN is_local := 0; END IF;
    END LOOP;
    INSERT INTO iolite_tproc_c.orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (wid, did, next_id, cid, LOCALTIMESTAMP, NULL, cardinality(items), is_local);
    INSERT INTO iolite_tproc_c.new_order (no_w_id, no_d_id, no_o_id) VALUES (wid, did, next_id);
    FOR n IN 1 .. cardinality(items) LOOP
        SELECT i_price, i_data INTO price, data FROM iolite_tproc_c.item WHERE i_id = items[n];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'item % does not exist', items[n] USING ERRCODE = 'TC001';
        END IF;
        SELECT s_quantity, s_data, CASE did WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
               WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
               WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
          INTO STRICT left_over, data, info
          FROM iolite_tproc_c.stock WHERE s_w_id = suppliers[n] AND s_i_id = items[n] FOR UPDATE;
        left_over := left_over - quantities[n];
        IF left_over < 10 THEN left_over := left_over + 91; END IF;
        UPDATE iolite_tproc_c.stock SET s_quantity = left_over, s_ytd = s_ytd + quantities[n],
               s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + CASE WHEN suppliers[n] <> wid THEN 1 ELSE 0 END
         WHERE s_w_id = suppliers[n] AND s_i_id = items[n];
        amount := price * quantities[n];
        total := total + amount;
        INSERT INTO iolite_tproc_c.order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
               ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
        VALUES (wid, did, next_id, n, items[n], suppliers[n], NULL, quantities[n], amount, info);
    END LOOP;
    RETURN total * (10000 - discount) * (10000 + w_rate + d_rate) / 100000000;
END $$;

CREATE FUNCTION iolite_tproc_c.payment_txn(wid INTEGER, did INTEGER, cwid INTEGER, cdid INTEGER, cid INTEGER, named TEXT,
    paid BIGINT) RETURNS BIGINT
LANGUAGE plpgsql AS $$
DECLARE
    payer INTEGER := cid; w_name_of TEXT; d_name_of TEXT; credit TEXT; data TEXT; balance BIGINT;
BEGIN
    UPDATE iolite_tproc_c.warehouse SET w_ytd = w_ytd + paid WHERE w_id = wid RETURNING w_name INTO STRICT w_name_of;
    UPDATE iolite_tproc_c.district SET d_ytd = d_ytd + paid WHERE d_w_id = wid AND d_id = did
     RETURNING d_name INTO STRICT d_name_of;
    IF payer IS NULL THEN payer := iolite_tproc_c.customer_named(cwid, cdid, named); END IF;
    SELECT c_credit, c_data INTO STRICT credit, data FROM iolite_tproc_c.customer
     WHERE c_w_id = cwid AND c_d_id = cdid AND c_id = payer FOR UPDATE;
    IF credit = 'BC' THEN
        data := left(payer || ' ' || cdid || ' ' || cwid || ' ' || did || ' ' || wid || ' ' || paid || '|' || data, 500);
    END IF;
    UPDATE iolite_tproc_c.customer SET c_balance = c_balance - paid, c_ytd_payment = c_ytd_payment + paid,
           c_payment_cnt = c_payment_cnt + 1, c_data = data
     WHERE c_w_id = cwid AND c_d_id = cdid AND c_id = payer RETURNING c_balance INTO STRICT balance;
    INSERT INTO iolite_tproc_c.history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (payer, cdid, cwid, did, wid, LOCALTIMESTAMP, paid, w_name_of || '    ' || d_name_of);
    RETURN balance;
END $$;

CREATE FUNCTION iolite_tproc_c.order_status_txn(wid INTEGER, did INTEGER, cid INTEGER, named TEXT) RETURNS INTEGER
LANGUAGE plpgsql AS $$
DECLARE
    customer_id INTEGER := cid; balance BIGINT; last_order INTEGER; line RECORD; found_lines INTEGER := 0;
BEGIN
    IF customer_id IS NULL THEN customer_id := iolite_tproc_c.customer_named(wid, did, named); END IF;
    SELECT c_balance INTO STRICT balance FROM iolite_tproc_c.customer
     WHERE c_w_id = wid AND c_d_id = did AND c_id = customer_id;
    SELECT o_id INTO STRICT last_order FROM iolite_tproc_c.orders
     WHERE o_w_id = wid AND o_d_id = did AND o_c_id = customer_id ORDER BY o_id DESC LIMIT 1;
    FOR line IN SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM iolite_tproc_c.order_line
                 WHERE ol_w_id = wid AND ol_d_id = did AND ol_o_id = last_order LOOP
        found_lines := found_lines + 1;
    END LOOP;
    RETURN found_lines;
END $$;

-- Returns the number of districts without an order to deliver.
CREATE FUNCTION iolite_tproc_c.delivery_txn(wid INTEGER, carrier INTEGER) RETURNS INTEGER
LANGUAGE plpgsql AS $$
DECLARE
    oldest INTEGER; buyer INTEGER; amount BIGINT; skipped INTEGER := 0;
BEGIN
    FOR did IN 1 .. 10 LOOP
        oldest := NULL;
        -- An order that this has waited for may have been taken by another delivery: look for the next.
        FOR attempt IN 1 .. 3 LOOP
            SELECT no_o_id INTO oldest FROM iolite_tproc_c.new_order WHERE no_w_id = wid AND no_d_id = did
             ORDER BY no_o_id LIMIT 1 FOR UPDATE;
            EXIT WHEN oldest IS NOT NULL;
        END LOOP;
        IF oldest IS NULL THEN
            skipped := skipped + 1;
            CONTINUE;
        END IF;
        DELETE FROM iolite_tproc_c.new_order WHERE no_w_id = wid AND no_d_id = did AND no_o_id = oldest;
        UPDATE iolite_tproc_c.orders SET o_carrier_id = carrier WHERE o_w_id = wid AND o_d_id = did AND o_id = oldest
         RETURNING o_c_id INTO STRICT buyer;
        UPDATE iolite_tproc_c.order_line SET ol_delivery_d = LOCALTIMESTAMP
         WHERE ol_w_id = wid AND ol_d_id = did AND ol_o_id = oldest;
        SELECT SUM(ol_amount) INTO amount FROM iolite_tproc_c.order_line
         WHERE ol_w_id = wid AND ol_d_id = did AND ol_o_id = oldest;
        UPDATE iolite_tproc_c.customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
         WHERE c_w_id = wid AND c_d_id = did AND c_id = buyer;
    END LOOP;
    RETURN skipped;
END $$;

CREATE FUNCTION iolite_tproc_c.stock_level_txn(wid INTEGER, did INTEGER, threshold INTEGER) RETURNS BIGINT
LANGUAGE plpgsql AS $$
DECLARE
    next_id INTEGER; low BIGINT;
BEGIN
    SELECT d_next_o_id INTO STRICT next_id FROM iolite_tproc_c.district WHERE d_w_id = wid AND d_id = did;
    SELECT COUNT(DISTINCT s_i_id) INTO low FROM iolite_tproc_c.order_line, iolite_tproc_c.stock
     WHERE ol_w_id = wid AND ol_d_id = did AND ol_o_id >= next_id - 20 AND ol_o_id < next_id
       AND s_w_id = wid AND s_i_id = ol_i_id AND s_quantity < threshold;
    RETURN low;
END $$;
